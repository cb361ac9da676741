#include "codegen/version.hpp"

#include <llvm/Config/llvm-config.h>

namespace tegula::codegen {

std::string_view llvm_version() { return LLVM_VERSION_STRING; }

}  // namespace tegula::codegen

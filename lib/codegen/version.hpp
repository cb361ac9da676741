// Names the LLVM that generates the code.
#pragma once

#include <string_view>

namespace tegula::codegen {

/// Returns "22.1.8".
std::string_view llvm_version();

}  // namespace tegula::codegen

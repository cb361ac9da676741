// Makes memory that belongs to a module.
#pragma once

#include <cstdint>
#include <string>

#include "codegen/nvptx/emitter.hpp"

namespace tegula::codegen::nvptx {

/// Makes an internal variable in global memory that is 0 when the module is loaded. Sizes in bytes.
llvm::GlobalVariable& zeroed_memory(Emitter& e, std::string const& name, std::int64_t size, std::int64_t alignment);

}  // namespace tegula::codegen::nvptx

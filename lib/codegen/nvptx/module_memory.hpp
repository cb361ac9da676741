// Makes memory that belongs to a module.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "codegen/nvptx/emitter.hpp"

namespace tegula::codegen::nvptx {

/// Makes an internal variable in global memory that is 0 when the module is loaded. Sizes in bytes.
llvm::GlobalVariable& zeroed_memory(Emitter& e, std::string const& name, std::int64_t size, std::int64_t alignment);
/// Makes an internal constant in global memory with these bytes, aligned to 128.
llvm::GlobalVariable& constant_memory(Emitter& e, std::string const& name, std::span<std::byte const> bytes);

}  // namespace tegula::codegen::nvptx

// The address of one element of a tensor in global memory.
#pragma once

#include "codegen/nvptx/emitter.hpp"

namespace tegula::codegen::nvptx {

/// Address (i64) of the element at these offsets, one per axis; no bounds are tested.
llvm::Value* element_address(Emitter& e, ir::Value const& tensor, std::span<ir::Value* const> offsets);

}  // namespace tegula::codegen::nvptx

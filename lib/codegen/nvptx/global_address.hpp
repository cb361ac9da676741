// The address of one element of a tensor in global memory.
#pragma once

#include "codegen/nvptx/emitter.hpp"

namespace tegula::codegen::nvptx {

/// Address (i64) of the element at these offsets, one per axis; no bounds are tested.
llvm::Value* element_address(Emitter& e, ir::Value const& tensor, std::span<ir::Value* const> offsets);

/// Whether nothing writes a tensor from the kernel's start to its end, as ld.global.nc asks. It holds for in parameters
/// of kernels, and of functions that all callers hand such a one. A kernel that starts before the grid ahead of it has
/// ended (wait_dependencies) may read what that grid still writes then.
bool constant_for_kernel(ir::Function const& kernel, ir::Value const& tensor);

}  // namespace tegula::codegen::nvptx

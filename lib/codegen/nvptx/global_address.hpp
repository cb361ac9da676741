// Computes the address of one element of a tensor in global memory.
#pragma once

#include "codegen/nvptx/emitter.hpp"

namespace tegula::codegen::nvptx {

/// Returns the address (i64) of the element at these offsets, one per axis; bounds are not tested.
llvm::Value* element_address(Emitter& e, ir::Value const& tensor, std::span<ir::Value* const> offsets);

/// True if a tensor is not written from the kernel's start to its end, as ld.global.nc requires. It holds for in
/// parameters of kernels, and of functions that all callers hand such a one. A kernel that starts before the previous
/// grid has ended (wait_dependencies) may read memory that this grid still writes then.
bool constant_for_kernel(ir::Function const& kernel, ir::Value const& tensor);

}  // namespace tegula::codegen::nvptx

// Makes tensor maps at the start of a kernel: of parameters, and of slices that are known there.
#pragma once

#include "ir/builder.hpp"

namespace tegula::transform {

/// Tells whether the tensor is a parameter, or a slice whose bounds follow from values that are known when a CTA
/// begins: scalars outside of loops and branches, and elements of tensors that the kernel does not write.
bool known_at_start(ir::Value const& tensor);

/// Gives the map of that box at the start of the kernel: an equal one, or a new one. The ops from which a slice follows
/// move there; its map stands behind them.
ir::Value* tensor_map_at_start(ir::Function& kernel, ir::Value& tensor, ir::TensorMapOp const& wanted);

}  // namespace tegula::transform

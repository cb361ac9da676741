// Makes tensor maps at the start of a kernel: of parameters, and of slices that are known there.
#pragma once

#include "ir/core/builder.hpp"

namespace tegula::transform {

/// Tells whether the tensor is a parameter, or a slice whose bounds are known when a CTA begins. They follow from
/// scalars outside of loops and branches, and from elements of tensors that the kernel does not write.
bool known_at_start(ir::Value const& tensor);

/// Returns the map of that box at the start of the kernel: an equal one, or a new one. The ops from which a slice
/// follows move there; its map stands behind them. `shape`: that of one copy's tile, where axes of the box are one axis
/// of it; empty: the box.
ir::Value* tensor_map_at_start(ir::Function& kernel, ir::Value& tensor, ir::TensorMapOp const& wanted,
                               Extents const& shape = {});

/// Returns the map of a box, of two axes or more, that one copy moves as a tile of rows (target/box_rows.hpp). Copies
/// take one element along the tensor's axes in front of those of the box.
ir::Value* map_of_rows(ir::Function& kernel, ir::Value& tensor, Extents box, int swizzle_bytes);

}  // namespace tegula::transform

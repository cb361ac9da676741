// Moves loads of tiles ahead of arithmetic that does not feed them.
#pragma once

#include "transform/common/pass.hpp"

namespace tegula::transform {

/// Issues loads of tiles early, so that a thread waits for several at once. A load is a branch in machine code, where
/// whole vectors or single elements are accessed. ptxas moves no arithmetic across it, so a thread would wait for the
/// first tile before it asks for the second.
///
///   before: %a = load %x, ...                      after: %a = load %x, ...
///           %b = cast %a                                  %c = load %bias, ...
///           %s = reduce %b                                %b = cast %a
///           %c = load %bias, ...                          %s = reduce %b
///
/// A load passes stores to other tensors and ops without effects and regions, up to the load before it; the first one
/// up to the arithmetic of tiles. It stays after a reduction if the tiles alive there would leave too few warps to a
/// multiprocessor. Kernels with products of tensor cores stay as they are: their registers hold accumulators. Needs:
/// layouts. Leaves: no promise.
PassResult raise_loads(ir::Function& function, PassContext& context);

}  // namespace tegula::transform

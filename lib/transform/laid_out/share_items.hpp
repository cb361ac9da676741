// Gives all warps one scalar where they may have computed its tile in different ways.
#pragma once

#include "transform/common/pass.hpp"

namespace tegula::transform {

/// Moves the only element of a tile through shared memory where warps may hold different bits of it. A warp decides by
/// its own vote whether it divides or multiplies by a reciprocal, for instance, so two copies of one element may round
/// differently. A scalar from such a copy could end a loop for one warp alone. One thread writes, and all read.
///
///   before: %q = if %vote -> (tile<1xf32, L>) {...} else {...}
///           %s = item %q : f32
///   after:  %m = buffer_alloc : shared<1xf32, dense>
///           buffer_store %m, %q
///           %s = buffer_load %m : f32
///
/// Needs: layouts. Leaves: no promise.
PassResult share_items(ir::Function& function, PassContext& context);

}  // namespace tegula::transform

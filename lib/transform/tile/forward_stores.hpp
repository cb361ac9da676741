// Reads a stored element from its tile.
#pragma once

#include "transform/common/pass.hpp"

namespace tegula::transform {

/// A scalar that is loaded from where the same block of ops has stored a tile of one element comes from this tile, if
/// nothing between them writes to global memory. So a loop until a tile is steady, whose condition stores a flag and
/// loads it, asks no memory. A place outside the tensor still reads as the load's pad.
///
///   before: store %flag, %tile, %i
///           %s = load %flag, %i : i32
///   after:  store %flag, %tile, %i
///           %n = extent %flag {axis = 0} : i64
///           %inside = and (%i >= 0), (%i < %n)
///           %s = select %inside, (item %tile), 0 : i32
///
/// Leaves: no promise.
///
/// Order: free after eliminate-dead-code, as a dead load is no hindrance.
PassResult forward_stores(ir::Function& function, PassContext& context);

}  // namespace tegula::transform

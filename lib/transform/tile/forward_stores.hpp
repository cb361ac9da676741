// Reads a stored element from its tile.
#pragma once

#include "transform/common/pass.hpp"

namespace tegula::transform {

/// Takes a loaded scalar from the tile of one element that the same block of ops has stored there, if nothing between
/// them writes to global memory. So a loop until a tile is steady, whose condition stores a flag and
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
/// Order: free after eliminate-dead-code, as a dead load does not hinder it.
PassResult forward_stores(ir::Function& function, PassContext& context);

}  // namespace tegula::transform

// Finds elements of tiles by reductions.
#pragma once

#include "transform/common/pass.hpp"

namespace tegula::transform {

/// Replaces the element of a tile at a place by the sum of a tile that has the bits of this element, and 0 elsewhere.
/// Each axis is done by itself, the last first, so only the lines that are left are compared along the next one. A
/// place outside the tile is read as 0.
///
///   before: %s = item_at %t, %i, %j : f32                 (%t is tile<8x64xf32>)
///   after:  %bits = bitcast %t : tile<8x64xi32>
///           %at = iota {axis = 1} : tile<1x64xi32>
///           %here = compare %at, splat(%j if it is inside, else -1) {predicate = eq} : tile<1x64xbool>
///           %line = select broadcast(%here), %bits, 0 : tile<8x64xi32>
///           %column = reduce %line {axis = 1, combine = sum} : tile<8x1xi32>
///           (the same with %i along axis 0: %sum, a tile<1x1xi32>)
///           %s = bitcast (item %sum) : f32
///
/// Leaves: no promise.
///
/// Order: free after expand-dots, which does not make items.
PassResult expand_items(ir::Function& function, PassContext& context);

}  // namespace tegula::transform

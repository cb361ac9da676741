// Makes axes of extent 1 and orders of axes part of the accesses of tiles.
#pragma once

#include "ir/core/builder.hpp"
#include "transform/common/pass.hpp"

namespace tegula::transform {

/// Lets a load give the tile without the axes of extent 1 that its users drop, in the order of axes that they want, and
/// a store take such a tile. The access is one of a permuted tensor, whose leading axes are those of which it takes one
/// element. Later passes see one form of a box, whichever way the tensor's axes lie.
///
///   before: %t = load %Q, %i, %head, %0 : tile<128x1x64xbf16>
///           %q = squeeze %t {axes = [1]} : tile<128x64xbf16>
///   after:  %p = permute %Q {permutation = [1, 0, 2]} : tensor<?x?x?xbf16>
///           %q = load %p, %head, %i, %0 : tile<128x64xbf16>
///
/// Arithmetic between the load and the shape op moves after it, so that a tile is loaded, converted and reshaped in
/// any order. A shape op that moves the last axis of the tensor stays.
///
/// Order: free after fold-tables, which moves no access.
PassResult fold_boxes(ir::Function& function, PassContext& context);

}  // namespace tegula::transform

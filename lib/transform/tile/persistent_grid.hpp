// Makes CTAs persistent: each takes tile after tile.
#pragma once

#include "transform/common/pass.hpp"

namespace tegula::transform {

/// Makes kernels persistent that the options name, and by itself those that have products in loops, but not if one of
/// these holds:
/// - CTAs build descriptors of slices when they begin;
/// - memory says how long a tile's loop with products is (lengths of sequences). No order of tiles is known then to
///   deal the work evenly. The GPU gives a multiprocessor its next CTA when it is free.
///
/// Their CTAs take tiles in turn, as many CTAs as the device has multiprocessors. So the
/// copies for the next tile run while this one is stored.
///
///   before: grid %g0, %g1                          after: grid as many of min(%g0 * %g1, multiprocessors) CTAs
///                                                               as take the same number of tiles
///           %i = block_index                              for %tile = this CTA to %g0 * %g1 step all CTAs {
///           %j = block_index {axis = 1}                     %j = ..., %i = ... of %tile
///           ... body ...                                    ... body ...
///                                                         }
///
/// Tiles follow the grid's first two axes in groups along the second one. So the CTAs that run together share rows and
/// columns in L2. A group has as many rows of tiles as make these CTAs fetch the fewest bytes, by the loads in loops
/// that depend on one of the two axes; 8 where nothing tells.
///
/// With the option `share` clusters of CTAs take tiles, one above the other, so that they can share fetches. A CTA
/// whose tile would lie behind the last row runs its loops, but no op with an effect.
///
/// One axis of the grid may determine the length of those loops (a causal mask). Then a CTA pairs an index along it
/// with the one as far from the other end. All pairs have the same work. The pairs may not fill the last round.
/// If the loops are known to grow or shrink along the axis, some tiles are dealt one by one, long ones first. Their
/// number fills that round. These tiles have the last indices along the other axes, and are not of the most uneven
/// pairs: no CTA has a whole pair more. With fewer pairs than CTAs all tiles are dealt.
///
/// The grid of a launch stands in the text by now; run on another one, the kernel computes every tile once with that
/// many CTAs. A kernel without loops, with one row per tile, gets two CTAs on a multiprocessor. Its loop has the
/// option's `stages`, 4 by default, so that rows can be on their way. Kernels without a grid of their own stay as they
/// are. Needs: whole-kernels. Leaves: no promise.
PassResult persistent_grid(ir::Function& function, PassContext& context);

}  // namespace tegula::transform

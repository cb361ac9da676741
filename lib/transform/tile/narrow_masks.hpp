// Narrows comparisons of coordinates to 32 bits.
#pragma once

#include "transform/common/pass.hpp"

namespace tegula::transform {

/// Rewrites comparisons of coordinates inside a tile, offset by 64-bit scalars, as 32-bit comparisons of the
/// coordinates alone. All other terms move into one scalar.
///
///   before: %c = iota {axis = 1} : tile<1x128xi64>       after: %c = iota {axis = 1} : tile<1x128xi32>
///           %at = add %c, splat %start                          %d = sub %length, %start
///           %m = compare %at, splat %length {lt}                %b = cast min(max(%d, -1), 128) : i32
///                                                               %m = compare %c, splat %b {lt}
///
/// The scalar is clamped to the range in which it can change the result. Both sides may have coordinates (a causal
/// mask). Only comparisons are rewritten whose sides facts show not to wrap. If facts do not show that their difference
/// fits (a limit of 2^63 - 1, say), sums of different signs are clamped first. Needs: whole-kernels. Leaves: no
/// promise.
///
/// Order: free after pad-tiles, whose masks compare 32-bit coordinates.
PassResult narrow_masks(ir::Function& function, PassContext& context);

}  // namespace tegula::transform

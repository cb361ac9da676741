// Computes tiles that are stored in chunks chunk by chunk.
#pragma once

#include "transform/common/pass.hpp"

namespace tegula::transform {

/// Loads and computes the elements of a tile for each of its chunks alone, where only chunks of it are used and
/// arithmetic joins it with a tile that is loaded through pointers. A residual beside the sums of a product then takes
/// the registers of two chunks, not of a whole tile. The load of a chunk stands ahead of the one before, if a thread
/// has registers for both, else ahead of its use. So do vectors that are spread over the tile, such as a bias, where a
/// thread has no registers for them beside the tile.
///
///   before: %r = load %R, %i, %j : tile<128x256xbf16>      after: %r0 = load %R, %i, %j : tile<128x64xbf16>
///           %w = cast %r                                          %r1 = load %R, %i, %j + 64 : tile<128x64xbf16>
///           %y = add %acc, %w                                     %w0 = cast %r0
///           %a = extract %y {offsets = [0, 0]}                    %c0 = extract %acc {offsets = [0, 0]}
///           ...                                                   %a = add %c0, %w0
///           %b = extract %y {offsets = [0, 64]}                   ...
///                                                                 (the same with %r1)
///
/// A tile that is stored in chunks may be reduced, too. Along the axis that is cut, each chunk is folded in its
/// threads, beside its store, and one reduction of the folds comes behind the last chunk with all that follows from it;
/// it may not be a sum in pairs. Along the other axis, each chunk is reduced, and the parts are put together behind the
/// last one. Nothing that is stored in chunks may follow from it. A tile that only reductions use is computed in the
/// chunks of another one, where a thread has no registers for both.
///
///   before: %m = reduce %y {axis = 1, combine = max}       after:  %f0 = fold %a {axis = 1, combine = max}
///           store %M, %m, %i, %z                                   ...
///           %a = extract %y {offsets = [0, 0]}                     %f1 = fold %b {axis = 1, combine = max}
///           ...                                                    %f = max %f0, %f1
///           %b = extract %y {offsets = [0, 64]}                    %m = reduce %f {axis = 1, combine = max}
///                                                                  store %M, %m, %i, %z
///
/// A tile that is stored through pointers is cut here, if a thread has no registers for all that it is computed from:
/// along its columns, or along its rows where warps divide the columns. It may be read from the box where it is stored.
///
/// Where warpgroups hold parts of the columns, a chunk has columns of each of them. Each warp loads those of its own
/// group: its number is part of the offset.
///
/// In chunks that others store, only loads of memory that the kernel does not write: stores of earlier chunks stand
/// between. Needs: layouts. Leaves: no promise.
PassResult compute_by_chunks(ir::Function& function, PassContext& context);

}  // namespace tegula::transform

// Stores results of products, and adds them in memory, in chunks through staging buffers and the TMA engine.
#pragma once

#include "transform/common/pass.hpp"

namespace tegula::transform {

/// Splits a store of a tile in the layout of products into stores of chunks. A chunk has the columns of a swizzled row
/// and the rows of one round of the warps.
///
///   before: store %C, %v, %i, %j                   (%v: tile<128x256xbf16, wgmma(8)>)
///   after:  %c0 = extract %v {offsets = [0, 0]} : tile<128x64xbf16, wgmma(8)>
///           elect {warp = -4} { bulk_wait {pending = 1, read = true} }     the buffer is free again
///           barrier %own {threads = 128}
///           buffer_store %staging[0], %c0
///           fence_proxy_async
///           barrier %own {threads = 128}
///           elect {warp = -4} {                                            this warpgroup's 64 rows
///             tma_store %map, %staging[0] of this warpgroup, %i + 16 * warp, %j
///             bulk_commit
///           }
///           ... and so on with buffers 1, 0, 1 ...
///
/// An atomic update of a box (analysis::updated_box) goes the same way, as tma_reduce. Its tile may be the transpose of
/// a product: a chunk has all its columns then, of which each warpgroup sends 64, and a part of its rows. Sends of one
/// element in chunks of one shape take the same buffers in turn, if each takes all of them and no wait is for an
/// earlier turn's store to the same place.
///
/// The rows of the product may be several axes of the stored box. Each copy then takes 64 rows as a box of these axes
/// (target/box_rows.hpp): [1, 4, 16, 64] of a tile<1x8x16x128xbf16>. Where warpgroups hold parts of a product's
/// columns, a chunk has the columns of a swizzled row from each; these parts lie one after the other in the buffer,
/// and each warpgroup sends its own.
///
/// Each warpgroup writes and sends its own rows and meets at a named barrier of its own, so that none waits for
/// another. At the end of the kernel every warpgroup waits for its last stores. In a loop that may store to the same
/// place again it waits for those of the previous iteration.
///
/// All stores of a kernel stay as they are
/// - with an atomic that orders other accesses: a copy out would have to end before a release;
/// - without a free named barrier for each warpgroup.
///
/// Single stores stay as they are for
/// - parts of padded tiles (`part`);
/// - tiles of rank 1;
/// - tensors that TMA cannot write, and slices that are not known when the kernel begins;
/// - `inout` tensors, but for updates of boxes;
/// - boxes of which 64 rows of the product are not a box;
/// - tensors that the kernel accesses elsewhere too, other than by updates of boxes by the same operation;
/// - places that may begin before the tensor;
/// - places where one warpgroup would overwrite another's store of an earlier iteration;
/// - chunks for which shared memory has no room beside the rings.
///
/// Needs: layouts.  Leaves: no promise about the remaining stores.
PassResult split_stores(ir::Function& function, PassContext& context);

}  // namespace tegula::transform

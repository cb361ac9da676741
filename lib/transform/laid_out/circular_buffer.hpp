// Places fetched tiles in rings of stages in shared memory.
#pragma once

#include "transform/common/pass.hpp"

namespace tegula::transform {

/// Replaces every fetch by a copy into a stage of a ring, a wait of its readers, and an arrive that releases the stage.
///
///   before: for %k = ... {                         after: %end = for %k = ... carry (%use = %zero) : i64 {
///             %a = fetch %map, %i, %k : ...                 elect {role = producer} {
///             ... readers of %a ...                           mbarrier_wait %empty[use mod S], use div S xor 1
///             yield                                           mbarrier_expect %full[use mod S] {bytes = ...}
///           }                                                 tma_load %map, %ring[use mod S], %full[...], %i, %k
///                                                           }
///                                                           mbarrier_wait %full[use mod S], use div S
///                                                           ... readers of %ring[use mod S] ...
///                                                           elect {warp = -1} { mbarrier_arrive %empty[use mod S] }
///                                                           yield use + 1
///                                                         }
///
/// The result is correct once insert-barriers and insert-proxy-fences have run. Copies still wait for their stage in
/// the warps that read: specialize-warps lets them run ahead.
///
/// Release: a stage is released after the wgmma_wait that covers its last reader. That wait may stand in the next
/// iteration; for the last iteration of an inner loop the release stands after that loop. Readers through ordinary
/// loads add a warp_barrier. Fetches of one block whose stages are released together share mbarriers. The counter of
/// uses is never reset: all loops around carry it. A fetch outside loops has one stage and no release.
///
/// Depth:
/// - the loop's `stages`, at most its iterations where their number is known;
/// - without `stages`, as many as its `distance` needs;
/// - up to 4 in innermost loops, as far as shared memory allows, and 1 in loops around those;
/// - at least 2 where the next iteration releases a stage, which it does after its own copy. A loop that asks for
///   exactly 1 waits for its products in their own iteration.
///
/// If two stages do not fit, and the kernel did not request them, the iteration waits for its own products and uses
/// one. Stages that do not fit are refused.
///
/// Sharing: where a fetch has `share` N, each of the cluster's N CTAs copies one part of the tile into the stages of
/// all (tma_load {multicast}), cut along shared_axis(). Each CTA's full mbarrier still expects the whole tile. A CTA
/// releases its stage to every CTA, so an empty mbarrier awaits N times the warps. CTAs stay until all have released.
/// If some site of a ring has no such fetch, or ordinary loads read it, each CTA fetches the ring's tiles for itself.
///
/// Rows: a fetch from a tensor takes rows at indices, which threads copy. Then all threads fill the stage, and one lane
/// of them starts the copies of its other tiles. Indices are computed again for the threads that copy (row_places.hpp).
///
///   fill {ring = 1, stages = 3} {
///     mbarrier_wait %empty[use mod S], use div S xor 1
///     elect { mbarrier_expect %full[use mod S] ..., tma_load ... }
///     cp_async_gather %A, %ring[use mod S], %rows, %k {vector = 8}
///     cp_async_arrive %full[use mod S]
///   }
///   mbarrier_wait %full[use mod S], use div S
///   fence_proxy_async
///
/// Pieces: a fetch from a tensor at offsets takes the pieces that cover rows, `cp_async_cover %A, %ring[use mod S], %i,
/// %k` in place of cp_async_gather. Its readers are ordinary loads.
///
/// Rings are numbered from 1 in `ring` of their regions: `role = producer`, or `fill`, fills one of `stages` stages,
/// `role = consumer` releases one, `lag` iterations after its fill. run-ahead reads these attributes.
///
/// Mbarriers are initialised and fenced before the first op with an effect (`region = pre_prologue`), and live to the
/// end of the kernel. Nothing reuses their few bytes, so a post-epilogue that invalidated them would only cost a
/// barrier. Loops that fetch are marked `region = main`; loops without fetches stay as they are. Needs: layouts.
/// Leaves: no fetch.
///
/// ring_sites.hpp finds which fetches share a ring, ring_depths.hpp decides how many stages it has, ring_uses.hpp
/// counts its uses; circular_buffer.cpp has the buffers, fills, waits and releases.
PassResult circular_buffer(ir::Function& function, PassContext& context);

}  // namespace tegula::transform

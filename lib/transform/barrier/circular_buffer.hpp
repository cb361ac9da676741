// Places fetched tiles in rings of stages in shared memory.
#pragma once

#include "transform/pass.hpp"

namespace tegula::transform {

/// Replaces every fetch by a copy into a stage of a ring, a wait of its readers, and an arrive that releases the stage.
///
///   before: for %k = ... {                         after: %end = for %k = ... carry (%use = %zero) : i64 {
///             %a = fetch %map, %i, %k : ...                 elect {role = producer} {
///             ... readers of %a ...                           mbarrier_wait %empty[use mod S], use div S xor 1
///             yield                                           mbarrier_expect %full[use mod S] {bytes = ...}
///           }                                                 tma_load %map, %ring[use mod S], %full[use mod S], %i,
///           %k
///                                                           }
///                                                           mbarrier_wait %full[use mod S], use div S
///                                                           ... readers of %ring[use mod S] ...
///                                                           elect {warp = -1} { mbarrier_arrive %empty[use mod S] }
///                                                           yield use + 1
///                                                         }
///
/// The kernel that comes out is right behind insert-barriers and insert-proxy-fences, but copies wait for their stage
/// in the same warps that read: specialize-warps lets them run ahead. A stage is given back behind the wgmma_wait that
/// covers its last reader, in the next iteration if that is where it stands (the last one of an inner loop behind that
/// loop); readers through ordinary loads add a warp_barrier. Fetches of one block that are given back together share
/// barriers. The counter of uses is never reset: all loops around carry it. A fetch outside loops has one stage and no
/// way back. Depth: the loop's `stages`, no more than its iterations where their number is known; else as many as its
/// `distance` needs and up to 4 in innermost loops, as far as shared memory goes, and 1 in loops around those; 2 at
/// least where the next iteration gives a stage back, which it does behind its own copy. Where two do not fit, and
/// nobody asked for them, the iteration waits for its own products and takes one. Stages that do not fit are refused.
/// Barriers are made and fenced before the first op with an effect (`region = pre_prologue`), and live to the end of
/// the kernel: nothing takes their few bytes over, so a post-epilogue that invalidated them would cost a barrier for
/// nothing. Loops that fetch are marked `region = main`, loops without fetches stay as they are. Needs: layouts.
/// Leaves: no fetch.
PassResult circular_buffer(ir::Function& function, AnalysisCache& analyses, PassContext& context);

}  // namespace tegula::transform

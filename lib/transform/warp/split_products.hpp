// Shares the loop of a product among the CTAs of a cluster.
#pragma once

#include "transform/pass.hpp"

namespace tegula::transform {

/// Where tiles are few, CompileOptions::split CTAs (2, 4 or 8) of a cluster share each of them: every one takes its
/// part of the loop, and what they have summed up meets in the first one's shared memory, which alone goes on.
///
///   before: %acc = for %k = 0 to %n { ... product ... }
///           store %C, %acc, %i, %j
///   after:  %acc = for %k = %n * %rank / 4 to %n * (%rank + 1) / 4 { ... product ... }
///           if %rank == 0 {
///             mbarrier_expect %full {bytes = all parts}           one lane
///             mbarrier_wait %full, %use {scope = cluster}
///             %sum = %acc + part of rank 1 + part of rank 2 + part of rank 3
///             mbarrier_arrive %empty, every other rank            a lane per warp: their slots are free again
///             store %C, %sum, %i, %j
///           } else {
///             mbarrier_wait %empty, %use xor 1 {scope = cluster}
///             peer_store %slot of this rank, %acc, %full, 0
///           }
///
/// The parts are added in the order of ranks, so that results are the same from run to run. They lie as threads hold
/// them: accesses have 16 bytes and no bank conflicts. Nothing is kept in global memory.
///
/// The kernel sees its cluster where it saw its block: block_index, grid_extent and multiprocessors count clusters, and
/// the grid has `split` CTAs for each, along its first axis. CTAs meet once at the start, so that none writes to one
/// that has not begun; at the end the others wait until the first has taken their last part.
///
/// For kernels whose products all stand in one loop that carries their accumulators from zero on and nothing else, and
/// that store nothing before it; at most 64 KiB of parts. The others stay as they are, with a remark. Needs: layouts.
PassResult split_products(ir::Function& function, AnalysisCache& analyses, PassContext& context);

}  // namespace tegula::transform

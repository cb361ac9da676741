// Splits K over the CTAs of a cluster (split-K) and adds the partial sums.
#pragma once

#include "transform/common/pass.hpp"

namespace tegula::transform {

/// Shares each tile among CompileOptions::split CTAs (2 to 8, or 16) of a cluster, for kernels with few tiles. Every
/// CTA runs its part of the loop. The partial sums meet in the first CTA's shared memory, and only that CTA goes on:
/// the others run ahead with their next tiles. Where all parts take more than 64 KiB, each CTA adds and stores its
/// share of the columns instead (column_shares.hpp): it hands each other one its share of them, as below, and keeps its
/// own.
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
/// The parts are added in the order of ranks, so that results are the same from run to run. They are stored in the
/// order in which threads hold them: accesses have 16 bytes and no bank conflicts. Global memory holds none of them.
///
/// The kernel sees its cluster in place of its block: block_index, grid_extent and multiprocessors count clusters. The
/// grid has `split` CTAs for each, along its first axis. CTAs meet once at the start, so that none writes to one that
/// has not begun. At the end the others wait until the first has read their last part.
///
/// Rewrites a kernel only if
/// - all its products are in one loop;
/// - the loop carries their accumulators, or sums to which it adds what follows from them, which start at zero, and
///   nothing else;
/// - the kernel stores nothing before the loop;
/// - the parts take at most 64 KiB, or those of one CTA's share do, and the columns can be shared.
///
/// Other kernels stay as they are, with a remark. Needs: layouts.
///
/// Order: free after join-reductions, which orders exchanges of warps.
PassResult split_products(ir::Function& function, PassContext& context);

}  // namespace tegula::transform

// Spreads rows that one CTA does not hold over a cluster.
#pragma once

#include "transform/common/pass.hpp"

namespace tegula::transform {

/// Divides the tiles of a row kernel among the CTAs of a cluster, where one CTA would not hold them in registers. Each
/// CTA loads, computes and stores its part. Where rows are reduced, the CTAs hand each other their results through
/// distributed shared memory, and all combine them in the same order:
///
///   before: grid %n                                     after: grid %n * 8                                cluster = 8
///           %x = load %X, %row, 0 : tile<131072xf32>           %x = load %X, %row, %rank * 16384 : tile<16384xf32>
///           %m = reduce %x {combine = max}                     %p = reduce %x {combine = max}
///                                                              peer_store %slot of this rank, %p, %full, 0 to 7
///                                                              mbarrier_wait %full {scope = cluster}
///                                                              %m = max of the 8 slots
///           store %loss, %m, %row                              if %rank == 0 { store %loss, %m, %row }
///           store %Y, %x, %row, 0                              store %Y, %x, %row, %rank * 16384
///
/// spread_ctas.hpp says which kernels, and along which axis. CTAs meet once at the start, so that none writes to one
/// that has not begun. Each reduction has slots and an mbarrier of its own, and runs once: a CTA ends after it got the
/// results of all others. Results are combined by adjacent pairs in the order of ranks.
///
/// A sum of exp(x - max(x)) does with one exchange in place of two (ReduceOp::power_bits): each CTA subtracts the
/// maximum m of its own part, and hands over m and its sum s. Then max = max of all m, sum = sum of all s * exp(m -
/// max), and a factor of shares is multiplied by exp(m - max) with the CTA's own m.
///
/// A CTA asks the L2 cache for a later row ahead of its own loads (prefetch): its loads wait less, and memory does not
/// rest while the CTAs of a row wait for each other. The first meeting of the CTAs is relaxed: it publishes mbarriers,
/// which the fence of their initialisation covers, and a release would be a memory barrier of the whole GPU.
/// Needs: layouts.
PassResult spread_rows(ir::Function& function, PassContext& context);

}  // namespace tegula::transform

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
/// Needs: layouts.
PassResult spread_rows(ir::Function& function, AnalysisCache& analyses, PassContext& context);

}  // namespace tegula::transform

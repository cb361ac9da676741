// Lets warpgroups issue their products in turn.
#pragma once

#include "transform/pass.hpp"

namespace tegula::transform {

/// In loops whose exponentials take about as long as their products, lets the warpgroups of a partition issue products
/// one after another, so that one computes exponentials while the tensor cores work for another. In step they would all
/// wait for the one unit, then for the other.
///
///   before: for %j = ... {                          after: %w = warp_index div 4, %mine = first + %w
///             mbarrier_wait ...                            if %w == last { barrier_arrive first {threads = 256} }
///             wgmma_fence                                  for %j = ... {
///             wgmma ...                                      mbarrier_wait ...
///             wgmma_commit                                   barrier %mine {threads = 256, purpose = schedule}
///             ...                                            wgmma_fence ... wgmma_commit      (all of the iteration)
///           }                                                barrier_arrive %next {threads = 256, purpose = schedule}
///                                                            ...
///                                                          }
///
/// Named barriers that nothing else uses; each is met by the warpgroup whose turn it is and the one before it. All
/// warpgroups of a partition run the same iterations, so the turns go on over loops and never run out. Wanted where
/// products of the loop's own block take less than one and a half times the time of its exponentials (2048 products and
/// 16 exponentials a clock of a multiprocessor). Only the schedule changes. Needs: block ops with barriers inserted.
/// Leaves: no promise.
PassResult take_turns(ir::Function& function, AnalysisCache& analyses, PassContext& context);

}  // namespace tegula::transform

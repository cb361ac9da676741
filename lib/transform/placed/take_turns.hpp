// Lets warpgroups issue their products in turn.
#pragma once

#include "transform/common/pass.hpp"

namespace tegula::transform {

/// Makes the warpgroups of a partition issue their products one after another in loops whose exponentials take about as
/// long as their products. One warpgroup computes exponentials while the tensor cores work for another. In lockstep all
/// of them would wait for one unit, then for the other.
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
/// The named barriers are used for nothing else. The warpgroup whose turn it is and the one before it meet at each. All
/// warpgroups of a partition run the same iterations, so the turns go on over loops and never run out. The pass
/// rewrites a loop if the products of its own block take less than one and a half times as long as its exponentials. A
/// multiprocessor is taken to do 2048 products and 16 exponentials per clock. Only the schedule changes. Needs: block
/// ops with barriers inserted. Leaves: no promise.
///
/// Order: free after dependent-launch, which puts the wait before the loops.
PassResult take_turns(ir::Function& function, PassContext& context);

}  // namespace tegula::transform

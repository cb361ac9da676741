// Barriers of a CTA, of groups of warps and of warps.
#pragma once

#include "transform/pass.hpp"

namespace tegula::transform {

/// Closes the hazards between threads that run a block together (analysis::Hazards) with as few barriers as it can
/// prove enough: none where each byte stays with its thread, `warp_barrier` where it stays with its warp, else
/// `barrier`, with a name and a number of threads inside warp_specialize.
///
///   before: shared_store %s, %x                   after: shared_store %s, %x
///           %y = shared_load %s : ...                    barrier
///                                                        %y = shared_load %s : ...
///
/// A barrier stands as late as possible, but before loops that the earlier access is not in, and each is needed:
/// without any one of those inserted a hazard is left. Barriers that are there are respected, and never removed.
/// Ordinary accesses of one tensor by one block are ordered like those of shared memory. A called function, whose own
/// hazards are closed, leaves what is unordered at its start and end to its callers. What no barrier can close, since
/// the threads cannot meet in between, is left to the protocol that the text states.
///
/// Needs: layouts, shared-offsets.  Leaves: barriers.
PassResult insert_barriers(ir::Function& function, AnalysisCache& analyses, PassContext& context);

}  // namespace tegula::transform

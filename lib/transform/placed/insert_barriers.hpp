// Inserts barriers of a CTA, of groups of warps and of warps.
#pragma once

#include "transform/common/pass.hpp"

namespace tegula::transform {

/// Closes the hazards between threads that run a block together (analysis::Hazards) with as few barriers as it can
/// prove enough:
/// - none where each byte stays with its thread;
/// - `warp_barrier` where it stays with its warp;
/// - `barrier` elsewhere, with a name and a number of threads inside warp_specialize.
///
///   before: buffer_store %s, %x                   after: buffer_store %s, %x
///           %y = buffer_load %s : ...                    barrier
///                                                        %y = buffer_load %s : ...
///
/// A barrier stands as late as possible, but before loops that the earlier access is not in. Each is needed: without
/// any one of the inserted barriers a hazard is left. Existing barriers count, and are never removed. Ordinary accesses
/// of one tensor by one block are ordered like those of shared memory. A called function, whose own hazards are closed,
/// leaves unordered accesses at its start and end to its callers. The protocol of the text must order accesses between
/// which the threads cannot meet.
///
/// Needs: layouts, shared-offsets.  Leaves: barriers.
PassResult insert_barriers(ir::Function& function, PassContext& context);

}  // namespace tegula::transform

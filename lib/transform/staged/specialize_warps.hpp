// Gives producers and consumers separate warps.
#pragma once

#include "transform/common/pass.hpp"

namespace tegula::transform {

/// Splits a kernel whose rings are filled in regions of role `producer`, or by all threads. It gets four more warps, of
/// which one lane fills, while the others run the rest.
///
///   before: elect {region = pre_prologue} ...      after: elect {region = pre_prologue} ...
///           for %k = ... {                                warp_specialize {warps = [4, 8], replicas = [1, 1], ...} {
///             elect {role = producer} { fill }              elect { for %k = ... { fill } }
///             mbarrier_wait %full                         } and {
///             ... readers ...                               for %k = ... { mbarrier_wait %full ... readers ... }
///           }                                             }
///
/// Where threads copy rows (`fill`), all lanes of the four warps run the producer's side, and arrive at the mbarrier of
/// the filled stage; one of them elects itself for other copies.
///
/// Both sides are clones of the ops after the region that makes the mbarriers. The producer's side keeps its fills and
/// the control flow and arithmetic that they need, the consumers' side everything but the fills. Tiles made before it
/// move to the consumers, launch statements ahead of the split. Registers go from the producer to the consumers if both
/// are whole warpgroups. Kernels without such regions in a loop stay as they are, and so do those whose warps exchange
/// through shared memory at the barrier of the CTA. Needs: layouts.  Leaves: the CTA with more warps than the tiles'
/// layouts name, which are those of the consumers.
PassResult specialize_warps(ir::Function& function, PassContext& context);

}  // namespace tegula::transform

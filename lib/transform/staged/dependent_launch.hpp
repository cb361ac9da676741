// Overlaps a kernel with the previous kernel's tail.
#pragma once

#include "transform/common/pass.hpp"

namespace tegula::transform {

/// Lets a kernel start while the previous one on the stream drains. It waits for that one right before the first op of
/// its body that touches global memory, and allows the next one from there on.
///
///   before: barrier                                after: barrier
///           warp_specialize ... {                         wait_dependencies
///             elect { for ... { tma_load ... }            launch_dependents
///                                                         warp_specialize ... {
///                                                           elect { for ... { tma_load ... }
///
/// So one kernel waits beside the one that runs. Allowed ahead of the wait, each kernel of a stream would start those
/// after it: their CTAs fill the multiprocessors as the running ones leave room, several on one and none on another. A
/// product of 4 warps a CTA and a CTA a multiprocessor took 73 us for 33 on an H200.
///
/// The ops before the wait touch no memory of other kernels: initialisation of mbarriers, prefetches of tensor maps,
/// index arithmetic. Nor does a barrier, so the pass runs after the passes that insert barriers. Kernels that do not
/// touch global memory stay as they are, and so do kernels that contain these ops already. So do kernels that have
/// nothing to prepare: no products, copies, or sums of products of a matrix and a vector.
///
/// A product with a vector is short, and half of its time is the start of its launch and the way of the matrix from
/// memory. It allows the next kernel first. The places of the body's loads are computed before the wait, so that code
/// generation prefetches their boxes into the L2 cache there. A prefetch is right whatever the previous kernel writes:
/// it reads nothing. Needs: no-fetches. Leaves: no promise.
///
/// Order: free after insert-proxy-fences.
PassResult dependent_launch(ir::Function& function, PassContext& context);

}  // namespace tegula::transform

// Overlaps a kernel with the previous kernel's tail.
#pragma once

#include "transform/common/pass.hpp"

namespace tegula::transform {

/// Lets a kernel start while the previous one on the stream drains. It waits for that one right before the first op of
/// its body that touches global memory, and allows the next one from there on.
///
///   before: barrier                                after: barrier
///           warp_specialize ... {                         launch_dependents
///             elect { for ... { tma_load ... }            wait_dependencies
///                                                         warp_specialize ... {
///                                                           elect { for ... { tma_load ... }
///
/// The ops before the wait touch no memory of other kernels: initialisation of mbarriers, prefetches of tensor maps,
/// index arithmetic. Nor does a barrier, so the pass runs after the passes that insert barriers. Kernels that do not
/// touch global memory stay as they are, and so do kernels that contain these ops already, and those that have nothing
/// to prepare: without products, copies, and sums of products of a matrix and a vector.
///
/// A product with a vector is short, and half of its time is the start of its launch and the way of the matrix from
/// memory. The places of the body's loads are computed before the wait, so that code generation prefetches their boxes
/// into the L2 cache there. A prefetch is right whatever the previous kernel writes: it reads nothing. Needs:
/// no-fetches. Leaves: no promise.
///
/// Order: free after insert-proxy-fences.
PassResult dependent_launch(ir::Function& function, AnalysisCache& analyses, PassContext& context);

}  // namespace tegula::transform

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
/// touch global memory stay as they are, and so do kernels that contain these ops already, and those without products
/// and copies, which have nothing to prepare. Needs: no-fetches. Leaves:
/// no promise.
///
/// Order: free after insert-proxy-fences.
PassResult dependent_launch(ir::Function& function, AnalysisCache& analyses, PassContext& context);

}  // namespace tegula::transform

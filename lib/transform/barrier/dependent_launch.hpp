// Overlaps a kernel with the previous kernel's tail.
#pragma once

#include "transform/pass.hpp"

namespace tegula::transform {

/// Lets a kernel start while the one before it on the stream drains: it waits for that one right before the first op of
/// its body that touches global memory, and allows the next one from there on.
///
///   before: barrier                                after: barrier
///           warp_specialize ... {                         launch_dependents
///             elect { for ... { tma_load ... }            wait_dependencies
///                                                         warp_specialize ... {
///                                                           elect { for ... { tma_load ... }
///
/// The ops before the wait (barriers' initialisation, prefetches of tensor maps, index arithmetic) touch no
/// memory of other kernels; nor does a barrier, so the pass runs behind those that insert them. Kernels that touch no
/// global memory, and those that say it themselves, stay. Needs: no-fetches. Leaves: no promise.
PassResult dependent_launch(ir::Function& function, AnalysisCache& analyses, PassContext& context);

}  // namespace tegula::transform

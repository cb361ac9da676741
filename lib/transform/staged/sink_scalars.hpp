// Moves scalars that are only needed behind a product to its last wait.
#pragma once

#include "transform/common/pass.hpp"

namespace tegula::transform {

/// Moves scalar ops that stand before a loop of products, and are only used behind its last wait, to right before that
/// wait. They run beside the last products, and their registers are free in the loop.
///
///   before: %row = mul %tile, %m : i64             after: %p = for ... { ... wgmma ... }
///           %p = for ... { ... wgmma ... }                %row = mul %tile, %m : i64
///           %acc = wgmma_wait %p : tile<...>              %acc = wgmma_wait %p : tile<...>
///           store %C, %acc, %row, %column                 store %C, %acc, %row, %column
///
/// Runs behind specialize-warps, which gives producers and consumers each their own copies of these ops. Needs:
/// no-dots. Leaves: no promise.
///
/// Order: free behind take-turns.
PassResult sink_scalars(ir::Function& function, AnalysisCache& analyses, PassContext& context);

}  // namespace tegula::transform

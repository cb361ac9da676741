// Moves scalars that are only needed after a product to its last wait.
#pragma once

#include "transform/common/pass.hpp"

namespace tegula::transform {

/// Moves scalar ops that stand before a loop of products, and are only used after its last wait, after the loop.
/// Their registers are free in the loop. Where results go through shared memory, they stand before the wait and run
/// beside the last products; where threads store results from registers, after it, as ptxas serialises the products
/// otherwise.
///
///   before: %row = mul %tile, %m : i64             after: %p = for ... { ... wgmma ... }
///           %p = for ... { ... wgmma ... }                %row = mul %tile, %m : i64
///           %acc = wgmma_wait %p : tile<...>              %acc = wgmma_wait %p : tile<...>
///           %s = view %staging, %row, ...                 %s = view %staging, %row, ...
///           buffer_store %s, %acc                         buffer_store %s, %acc
///
/// Runs after specialize-warps, which gives producers and consumers each their own copies of these ops. Needs:
/// no-dots. Leaves: no promise.
///
/// Order: free after take-turns.
PassResult sink_scalars(ir::Function& function, PassContext& context);

}  // namespace tegula::transform

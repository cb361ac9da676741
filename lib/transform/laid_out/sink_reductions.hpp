// Moves sums across lanes out of loops.
#pragma once

#include "transform/common/pass.hpp"

namespace tegula::transform {

/// Keeps a loop-carried sum, to which every iteration adds a reduction, apart per lane until another op needs it.
///
///   before: %l = for ... carry (%l0 = 0) {             after: %f = for ... carry (%f0 = 0) {
///             %r = reduce %p {axis = 1}                         %q = fold %p {axis = 1}
///             %k = mul %l0, %a                                  %k = mul %f0, broadcast %a
///             yield add %k, %r                                  yield add %k, %q
///           }                                                 }
///                                                             %l = reduce %f {axis = 1}
///
/// Requires that
/// - the order of the sum is free (order = any);
/// - a lane's part may be larger than the sum: elements are f32, f64 or bf16;
/// - arithmetic is not exact;
/// - the sum starts from 0.
///
/// Sums may pass through several loops and branches, and be multiplied by values that all lanes of a row share. Needs:
/// layouts. Leaves: no promise.
///
/// Order: free after test-masks.
PassResult sink_reductions(ir::Function& function, PassContext& context);

}  // namespace tegula::transform

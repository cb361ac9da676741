// Moves sums across lanes out of loops.
#pragma once

#include "transform/pass.hpp"

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
/// Only sums whose order is free (order = any), of elements in which a lane's part may be larger than the sum (f32,
/// f64, bf16), and not with exact arithmetic; they may pass through several loops and branches, be multiplied by what
/// all lanes of a row share, and must start from 0. Needs: layouts. Leaves: no promise.
PassResult sink_reductions(ir::Function& function, AnalysisCache& analyses, PassContext& context);

}  // namespace tegula::transform

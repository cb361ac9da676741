// References of exponents that need not be followed at every step.
#pragma once

#include "transform/pass.hpp"

namespace tegula::transform {

/// Finds running maxima that only serve as the reference of a softmax, and lets them lag.
///
///   before: %m, %l, %o = for ... carry (%m0 = -inf, %l0 = 0, %o0 = 0) {       after: %m1 = max %m0, %top {slack = 8}
///             %m1 = max %m0, %top
///             %p = exp2 (sub %x, broadcast %m1)
///             %a = exp2 (sub %m0, %m1)
///             yield %m1, add (mul %l0, %a), (reduce %p), dot %p, %v, (mul %o0, broadcast %a)
///           }
///           ... div %o, broadcast %l ...
///
/// What is carried follows the reference: it is multiplied by 2^(old - new), what is added to it is a multiple of
/// 2^(x - new), and outside the loop only quotients of such values are taken, from which the reference falls out. So any
/// reference that the maximum exceeds by no more than the slack gives the same result but for rounding, and weights stay
/// below 2^slack. Exact arithmetic keeps the maximum. Needs: no-calls. Leaves: no promise.
PassResult lag_references(ir::Function& function, AnalysisCache& analyses, PassContext& context);

}  // namespace tegula::transform

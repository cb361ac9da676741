// Updates the running maximum of a softmax only when it grows by more than a slack.
#pragma once

#include "transform/common/pass.hpp"

namespace tegula::transform {

/// Finds running maxima that only serve as the reference of a softmax, and gives them a slack.
///
///   before: %m, %l, %o = for ... carry (%m0 = -inf, %l0 = 0, %o0 = 0) {       after: %m1 = max %m0, %top {slack = 8}
///             %m1 = max %m0, %top
///             %p = exp2 (sub %x, broadcast %m1)
///             %a = exp2 (sub %m0, %m1)
///             yield %m1, add (mul %l0, %a), (reduce %p), dot %p, %v, (mul %o0, broadcast %a)
///           }
///           ... div %o, broadcast %l ...
///
/// The pass follows every use of the maximum, of the factor and of the weights; one use without a rule keeps the
/// maximum:
/// - the new maximum is subtracted from scores and from the old one, and carried on; the factor multiplies carried
///   sums, nothing else, all of one base;
/// - weights are added, and multiplied by the right side of a product, along axes that share one reference;
/// - after the loop, only results are computed in which the reference cancels: quotients of two such sums of the same
///   rows, comparisons of them with 0, and the sum of the maximum and their logarithm.
/// So a reference that the maximum exceeds by at most the slack gives the same result except for rounding. The maximum
/// is of f32 or f64, and sums have exponents of 8 bits or more. Weights have fewer only where the maximum bounds them:
/// then they stay below 2^slack. Exact arithmetic keeps the maximum. Needs: whole-kernels. Leaves: no promise.
///
/// Order: free after raise-dots, which moves products and their factors alone.
PassResult lag_references(ir::Function& function, PassContext& context);

}  // namespace tegula::transform

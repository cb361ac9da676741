// Rescales the online-softmax state only when a running maximum grows.
#pragma once

#include "transform/common/pass.hpp"

namespace tegula::transform {

/// Reduces a loop's running maximum across lanes, and rescales the values that depend on it, only when some row has
/// outgrown it. Scales move out of maxima and into the exponents.
///
///   before: %x = mul %s, splat %c                        after: %f = mul (fold %s {max}), splat %c
///           %top = reduce %x {axis = 1, max}                    %grows = vote (compare %f, broadcast %m0 {gt})
///           %m1 = max %m0, %top                                 %m1, %a = if %grows or %c < 0 {
///           %a = exp2 (sub %m0, %m1)                              %g = %c < 0 ? mul (fold %s {min}), splat %c : %f
///           %p = exp2 (sub %x, broadcast %m1)                     max %m0, (reduce %g {axis = 1, max}); exp2 ...
///           ... mul %o, broadcast %a ...                        } else { %m0, 1 }
///                                                               %p = exp2 (fma %s, splat %c, broadcast (neg %m1))
///                                                               ... if %grows or %c < 0 { mul %o, broadcast %a }
///                                                                   else { %o } ...
///
/// Masks between the scale and the maximum move ahead of the scale: select(%v, %x, -inf) becomes select(%v, %s, h) *
/// %c. There h is inf for a negative %c, else -inf. A %c of 0 becomes 2^-126, here and in the unmasked blocks (not with
/// exact arithmetic). The maximum and the multiplied values keep every bit; the exponent is rounded once instead of
/// twice (not with exact arithmetic). A maximum with slack is only replaced when it is exceeded by more than that. A
/// maximum is a running one if a loop carries it. If %a is carried to be multiplied elsewhere, the test is carried with
/// it. Zeros that loops begin with are not multiplied (except with exact arithmetic, where a NaN makes them NaN). With
/// exact arithmetic a maximum that is NaN or infinite counts as grown, so that its factor gives NaN. Needs: layouts.
/// Leaves: no promise.
///
/// Order: free after share-atomic-results.
PassResult lower_online_softmax(ir::Function& function, PassContext& context);

}  // namespace tegula::transform

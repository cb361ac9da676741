// Replaces a counter that is divided by a constant with its loop-carried remainder and quotient.
#pragma once

#include "transform/common/pass.hpp"

namespace tegula::transform {

/// Carries the remainder and the quotient by a constant in place of a loop-carried counter of which only these two are
/// used. A 64-bit division takes as long as the waits that follow it.
///
///   before: for ... carry (%use = %zero) {           after: for ... carry (%remainder = 0, %quotient = %zero) {
///             %stage = rem %use, %three                       %stage = cast %remainder
///             %turn = div %use, %three                        ... %stage, %quotient ...
///             ... %stage, %turn ...                           %sum = add %remainder, 1
///             %next = add %use, %one                          %over = compare %sum, 3 {predicate = ge}
///             yield %next                                     %r = select %over, 0, %sum
///           }                                                 %q = add %quotient, (select %over, 1, 0)
///                                                             yield %r, %q
///                                                           }
///
/// Counters start at constants that are not negative, and loops and branches only add such constants, so both forms
/// agree for every value. A value that is a constant below a counter is carried as well, with the parts of the previous
/// iteration. Powers of two are left to shifts. Needs: nothing.  Leaves: no such division.
///
/// Order: free after sink-scalars.
PassResult carry_remainders(ir::Function& function, PassContext& context);

}  // namespace tegula::transform

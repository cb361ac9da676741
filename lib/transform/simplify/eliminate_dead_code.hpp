// Eliminates dead code.
#pragma once

#include "transform/common/pass.hpp"

namespace tegula::transform {

/// Erases everything that stores, asserts, prints, launch statements and the function's results do not need:
/// - unused ops and loads;
/// - loops and branches without effects;
/// - values that a loop carries only for themselves;
/// - results of branches that nothing uses.
///
/// Before:                                                    After:
///   %r, %s = for ... carry (%a = %x, %b = %y) : t, t {         %s = for ... carry (%b = %y) : t {
///     %n = add %a, %a : t                                        %m = mul %b, %b : t
///     %m = mul %b, %b : t                                        yield %m
///     yield %n, %m                                             }
///   }                                                          store %o, %s, %i
///   store %o, %s, %i
/// Needs: nothing.  Leaves: no op that could be taken away in this sense.
///
/// Order: free after eliminate-common-subexpressions, which erases the ops that it merges.
PassResult eliminate_dead_code(ir::Function& function, PassContext& context);

}  // namespace tegula::transform

// Overlaps products of one iteration with those of the next.
#pragma once

#include "transform/pass.hpp"

namespace tegula::transform {

/// Where a loop's product takes what another product of the same iteration gave, and only adds to what the loop
/// carries, it moves into the next iteration, behind that iteration's first product.
///
///   before: %r = for %i = %lo to %hi ... carry (%o = %zero, ...) {
///             %s = dot %q, %k_i, %none                 first product
///             %p = ... %s ...                          arithmetic between the two
///             %n = dot %p, %v_i, %o                    last product
///             yield %n, ...
///           }
///   after:  %r = if %lo < %hi {
///             %s0 = dot %q, %k_lo, %none               prologue: the first iteration up to its last product
///             %p0 = ... %s0 ...
///             %m = for %i = %lo + 1 to %hi ... carry (%o = %zero, %p = %p0, ...) {
///               %s = dot %q, %k_i, %none
///               %n = dot %p, %v_i-1, %o                runs while %s is waited for and worked on
///               %p_next = ... %s ...
///               yield %n, %p_next, ...
///             }
///             %e = dot %m.p, %v_last, %m.o             epilogue: the last product of the last iteration
///             yield %e, ...
///           } else { yield %zero, ... }
///
/// What crosses from one iteration to the next is carried, chosen so that few bytes are; scalars that follow from the
/// index alone are computed again. Fetches become several of one ring. Fetches before the loop that only it reads move
/// to their first reader. Loops whose products' results would fill the registers stay, and those in which both stages
/// read one copied tile (as k and as trans(k)): its stage goes back in its own iteration. Needs: no-calls. Leaves: no
/// promise.
PassResult skew_dots(ir::Function& function, AnalysisCache& analyses, PassContext& context);

}  // namespace tegula::transform

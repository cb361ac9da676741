// Overlaps products of one iteration with those of the next.
#pragma once

#include "transform/common/pass.hpp"

namespace tegula::transform {

/// Moves a loop's products that are `late` into the next iteration, after that iteration's first product. They read
/// the results of other products of their iteration and only add to loop-carried values.
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
/// Values that cross from one iteration to the next become loop-carried; the pass chooses them so that few bytes are
/// carried. Scalars that follow from the index alone are computed again. Fetches become several of one ring. Fetches
/// before the loop that only it reads move to their first reader.
///
/// Needs: whole-kernels. Leaves: no promise.
PassResult skew_dots(ir::Function& function, PassContext& context);

}  // namespace tegula::transform

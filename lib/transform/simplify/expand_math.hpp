// Expands elementary functions and narrow-float arithmetic to f32 and f64 arithmetic, for targets without them.
#pragma once

#include "transform/common/pass.hpp"

namespace tegula::transform {

/// Replaces these functions by the expansions of tegula/math/elementary.hpp, with which the simulator and host<T>
/// compute too. Moves arithmetic on f16 and bf16 to f32: operands cast up, the op, one cast down. Conversions and
/// products of e4m3 and e5m2 become arithmetic on their bits and products of f32.
///
///   before: %y = exp %x : tile<64xf16>      after: %0 = cast %x : tile<64xf32>
///                                                  %1 = constant {value = 89 : f32} : tile<64xf32>
///                                                  %2 = compare %1, %0 {predicate = lt} : tile<64xbool>
///                                                  ... multiplications, sums, selects, shifts, bitcasts ...
///                                                  %y = cast %41 : tile<64xf16>
///
/// Needs: tile ops without layouts. Leaves:
/// - no op that is_expanded (ir/values/elementary.hpp),
/// - e4m3 and e5m2 only where their bits move,
/// - f16 and bf16 only in load, store, select, dot, shape ops, control flow and casts from and to f32.
///
/// Casts of f64 and integers to them round once, through f32 rounded to odd. Exact functions, min, max and casts
/// between float and integer stay: every target has exact instructions for them. Runs after the last canonicalisation
/// that might fold calls of constants; its output profits from one more CSE.
PassResult expand_math(ir::Function& function, PassContext& context);

/// Does the same for Hopper, which has instructions for powers of 2, quotients and roots. Rows of
/// tegula/math/elementary.def say by which formula: that of hosts, with products of f32 that meet sums unrounded, or
/// one of tegula/math/units.hpp. exp2, rsqrt and fast_tanh of f32 stay. Functions, roots and quotients of f16 and bf16
/// are computed in f32, exponentials of them in as few bits as they keep.
///
///   before: %y = tanh %x : tile<64xf32>      after: %a = abs %x : tile<64xf32>
///                                                   %p = exp2 %m {bits = 22, flush = true, licence = function_bound}
///                                                   %r = div %1, %d {bits = 22, normal = true, ...}
///                                                   ... multiply-adds of a polynomial, select, the sign of %x
///
/// Needs: tile ops without layouts.  Leaves: of functions, exp2, rsqrt and fast_tanh of f32 alone.
///
/// Order: free after narrow-masks, plan-kernel and schedule-dots, which make integers, decisions and products.
PassResult expand_device_math(ir::Function& function, PassContext& context);

}  // namespace tegula::transform

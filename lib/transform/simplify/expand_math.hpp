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
/// - no op that is_expanded (ir/elementary.hpp),
/// - e4m3 and e5m2 only where their bits move,
/// - f16 and bf16 only in load, store, select, dot, shape ops, control flow and casts from and to f32.
///
/// Casts of f64 and integers to them round once, through f32 rounded to odd. Exact functions, min, max and casts
/// between float and integer stay: every target has exact instructions for them. Runs after the last canonicalisation
/// that might fold calls of constants; its output profits from one more CSE.
PassResult expand_math(ir::Function& function, AnalysisCache& analyses, PassContext& context);

/// Does the same for Hopper, which has fast instructions of its own. Expands only functions that it cannot compute to a
/// few units in the last place. That is every function of f64, and those without an instruction or with a coarser one.
/// Near 1 the instruction of logarithms loses all digits. Rows of tegula/math/elementary.def say which.
///
///   before: %y = log %x : tile<64xf32>      after: arithmetic, selects and bitcasts as above
///   unchanged: exp and exp2 of f32, f16, bf16
///
/// Needs: tile ops without layouts.  Leaves: native functions of at most 32 bits.
///
/// Order: free behind narrow-masks, plan-kernel and schedule-dots, which make integers, decisions and products.
PassResult expand_device_math(ir::Function& function, AnalysisCache& analyses, PassContext& context);

}  // namespace tegula::transform

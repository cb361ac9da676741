// Expands products that are made up of others.
#pragma once

#include "ir/core/builder.hpp"
#include "transform/common/pass.hpp"

namespace tegula::transform {

/// Replaces a product of precision tf32x3 by three of tf32: the low bits of each operand with the other, then both. The
/// tensor cores truncate operands to their upper bits, so these need no op; schedule-dots truncates those that lanes
/// multiply. NaN and infinities have no low bits. An infinity times low bits of 0 makes NaN.
///
///   before: %d = dot %a, %b, %acc {precision = tf32x3} : tile<64x64xf32>
///   after:  %bits = bitcast %a : tile<64x32xi32>
///           %upper = bitcast (%bits & 0xffffe000) : tile<64x32xf32>
///           %low = select (abs %a < inf), %a - %upper, 0   (the same for %b)
///           %d0 = dot %low, %b, %acc {precision = tf32} : tile<64x64xf32>
///           %d1 = dot %a, %b_low, %d0 {precision = tf32} : tile<64x64xf32>
///           %d = dot %a, %b, %d1 {precision = tf32} : tile<64x64xf32>
///
/// On a target whose tensor cores do not multiply floats of 8 bits, these are multiplied as f16, which holds each of
/// them: `%d = dot (cast %a), (cast %b), %acc` with casts to f16.
///
/// Leaves: no promise.
///
/// Order: free after relax-arithmetic, which does not change products of tiles.
PassResult expand_dots(ir::Function& function, PassContext& context);

}  // namespace tegula::transform

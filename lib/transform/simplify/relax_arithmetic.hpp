// Relaxes quotients and functions of f32 by the licences of lib/doc/arithmetic.md.
#pragma once

#include "transform/common/pass.hpp"

namespace tegula::transform {

/// States how many bits quotients, roots and powers of f32 need, and which powers below 2^-126 may be 0.
///
///   before: %q = div %x, %s : tile<64xf32>        after: %q = div %x, %s {bits = 22, licence = kept_16_bits}
///           %c = cast %q : tile<64xbf16>                 %c = cast %q : tile<64xbf16>
///
///   before: %p = exp2 %x : tile<64x64xf32>        after: %p = exp2 %x {flush = true, licence = kernel_of_blocks}
///           %d = dot ...                                 %d = dot ...
///
///   before: %r = sqrt %x : tile<64xf32>           after: %r = sqrt %x {bits = 22, licence = two_ulp}
///           store %y, %r                                 store %y, %r
///
/// A divisor that is a constant plus a number of at least 0 is divided by 4, and the dividend too, so that its
/// reciprocal is a normal number: `div %u, %v {bits = 22, normal = true}`. Attributes are all that code generation and
/// simulators read. Whether powers are flushed follows from the text: a product, or a loop with stages. So all plans of
/// a kernel agree. An op that is relaxed already stays, but a quotient of 2 ulp may turn out to keep 16 bits: the pass
/// runs a second time after expand-device-math, on its arithmetic. Exact arithmetic is not relaxed. Needs: nothing.
/// Leaves: no promise.
///
/// Order: after eliminate-dead-code, since dead uses may keep more bits; free after bound-loops and forward-stores,
/// which make integers; the second time after expand-device-math, whose arithmetic is relaxed too.
PassResult relax_arithmetic(ir::Module& module, PassContext& context);

}  // namespace tegula::transform

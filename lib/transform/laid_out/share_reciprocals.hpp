// Divides once per row and multiplies by the reciprocal.
#pragma once

#include "transform/common/pass.hpp"

namespace tegula::transform {

/// Replaces quotients by a value that a whole row shares with products by its reciprocal, if only 16 bits are kept.
///
///   before: %w = broadcast %l : tile<128x128xf32>        after: %r = div 1, %l : tile<128x1xf32>
///           %q = div %o, %w : tile<128x128xf32>                 %n = vote (2^-125 <= |%l| <= 2^125) {kind = all}
///           %c = cast %q : tile<128x128xbf16>                   %q = if %n { mul %o, broadcast %r }
///                                                                    else { div %o, %w }
///                                                               %c = cast %q : tile<128x128xbf16>
///
/// The quotient may be off by one unit in the last place of f32 before it is rounded to 16 bits. A reciprocal that has
/// fewer digits, or is 0 or infinite, is not used. With exact arithmetic none is. Quotients that are kept in f32 stay,
/// and those of kernels without products and copies, which wait for memory longer than for a division. Needs: layouts.
/// Leaves: no promise.
///
/// Order: free after sink-reductions.
PassResult share_reciprocals(ir::Function& function, PassContext& context);

}  // namespace tegula::transform

// Contracts products and sums of floats to fma.
#pragma once

#include "transform/common/pass.hpp"

namespace tegula::transform {

/// Tells whether products and sums are contracted: not where the options ask for exact arithmetic or switch it off.
bool contracts(CompileOptions const& options);

/// Adds products of f32 and f64 without rounding them, where all that a product meets are sums of its own block.
///
///   before: %p = mul %a, %b : tile<64xf32>      after: %s = fma %a, %b, %c {licence = contraction} : tile<64xf32>
///           %s = add %p, %c : tile<64xf32>
///
/// A product that a sum of any order along an axis adds up alone gets the licence: `mul %a, %b {licence =
/// contraction}`.
///
/// x * y - z is fma(x, y, -z), and z - x * y is fma(-x, y, z). Of two products that meet, the first one is contracted.
/// The rule is that of C compilers, and reads the text alone: the pass runs first on every executor, so that each
/// variant, plan and size of a kernel rounds alike. It wants equal products merged, else one that also meets something
/// else would seem to meet sums alone. A product that something else needs too stays: an fma beside it saves nothing.
/// Needs: nothing. Leaves: no promise.
///
/// Order: after eliminate-common-subexpressions, so that equal products count as one.
PassResult contract_products(ir::Function& function, PassContext& context);

}  // namespace tegula::transform

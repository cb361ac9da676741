// Builds exponentials of numbers that are not positive.
#pragma once

#include "ir/core/builder.hpp"

namespace tegula::transform {

/// Builds exp(x) of an f32, for -200 <= x <= 0 and NaN, within 4 ulp: the power of the rounded product with log2(e),
/// times 1 + ln(2) r, where r is what rounding left out. A power below 2^-126 is 0. `is_short`: 17 bits are enough, and
/// the power alone is built.
ir::Value* build_exp_below_one(ir::Builder& builder, ir::Value* x, bool is_short = false);

}  // namespace tegula::transform

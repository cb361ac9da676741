// Matrix products.
#pragma once

#include "tegula/ir/fields.hpp"

namespace tegula::ir {

/// `%d = dot %a, %b, %acc : tile<MxNxf32>`: acc + a * b with a (M, K), b (K, N). Elements of a and b agree: f16, bf16,
/// f32 with an f32 accumulator, f64 with f64. Products and sums are taken at least in the accumulator's precision, in
/// an order each target chooses once per kernel; fused multiply-add is allowed.
struct DotOp : OpDefaults {
  static constexpr std::string_view mnemonic = "dot";
  static constexpr auto operands = names("lhs", "rhs", "accumulator");
};

}  // namespace tegula::ir

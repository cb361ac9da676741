#include "transform/common/powers.hpp"

#include "tegula/math/units.hpp"

namespace tegula::transform {

ir::Value* build_exp_below_one(ir::Builder& builder, ir::Value* x, bool is_short) {
  using ir::Value;
  constexpr double ln_2 = 0.6931471805599453;
  constexpr std::int64_t power_bits = 22;
  auto const number = [&](double value) { return builder.constant(value, x->type()); };
  auto const fma = [&](Value* a, Value* b, Value* c) {
    return builder.same(ir::make_op<ir::FmaOp>(ir::Licence::function_bound), {a, b, c});
  };
  Value* const high = number(math::detail::log2e_f32.high);
  Value* const scaled = builder.same(ir::MulOp{}, {x, high});
  auto const power = [&] {
    return builder.same(ir::make_op<ir::Exp2Op>(power_bits, true, ir::Licence::function_bound), {scaled});
  };
  if (is_short) return power();
  Value* const minus = builder.same(ir::NegOp{}, {scaled});
  Value* const left_out = fma(x, number(math::detail::log2e_f32.low), fma(x, high, minus));
  Value* const rounded = power();
  return builder.same(ir::MulOp{}, {rounded, fma(left_out, number(ln_2), number(1))});
}

}  // namespace tegula::transform

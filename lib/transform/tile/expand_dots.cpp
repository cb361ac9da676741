#include "transform/tile/expand_dots.hpp"

#include <limits>
#include <vector>

#include "ir/core/builder.hpp"
#include "ir/core/rewrite.hpp"
#include "ir/core/walk.hpp"
#include "transform/common/tf32_bits.hpp"

namespace tegula::transform {
namespace {

using ir::Op;
using ir::Value;

/// Returns the part of an operand that tf32 leaves out, exactly; 0 for NaN and infinities.
Value* low_bits(ir::Builder& builder, Value* operand) {
  ir::Type const type = operand->type(), mask = type.with_element(Element::boolean);
  auto const number = [&](double value) { return builder.constant(ir::make_constant(Element::f32, value), type); };
  Value* const upper = upper_bits(builder, operand);
  Value* const size = builder.same(ir::AbsOp{}, {operand});
  Value* const infinity = number(std::numeric_limits<double>::infinity());
  Value* const finite = builder.value(ir::make_op<ir::CompareOp>(ir::Predicate::lt), {size, infinity}, mask);
  return builder.value(ir::SelectOp{}, {finite, builder.same(ir::SubOp{}, {operand, upper}), number(0)}, type);
}

void expand(Op& dot) {
  ir::Builder builder = ir::Builder::before(dot);
  builder.set_where(dot.where());
  Value *const a = dot.lhs(), *const b = dot.rhs(), *const a_low = low_bits(builder, a),
               *const b_low = low_bits(builder, b);
  Value* sum = dot.in<ir::DotOp>("accumulator");
  auto const add = [&](Value* left, Value* right) {
    sum = builder.value(ir::make_op<ir::DotOp>(ir::DotPrecision::tf32), {left, right, sum}, dot.result()->type());
  };
  add(a_low, b);
  add(a, b_low);
  add(a, b);
  ir::replace(dot, sum);
}

}  // namespace

PassResult expand_dots(ir::Function& function, AnalysisCache&, PassContext&) {
  std::vector<Op*> dots;
  ir::walk(function, [&](Op& op) {
    if (auto const* const dot = op.dyn<ir::DotOp>(); dot != nullptr && dot->precision == ir::DotPrecision::tf32x3)
      dots.push_back(&op);
  });
  for (Op* dot : dots) expand(*dot);
  return result_of(!dots.empty());
}

}  // namespace tegula::transform

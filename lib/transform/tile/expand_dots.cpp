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

/// Tells whether a product is one of floats of 8 bits that the target does not multiply.
bool lacks_product(Op const& dot, TargetInfo const& target) {
  Element const left = dot.lhs()->type().element(), right = dot.rhs()->type().element();
  return (is_f8(left) && !target.multiplies(left)) || (is_f8(right) && !target.multiplies(right));
}

/// Multiplies floats of 8 bits as f16, which holds each of them.
void multiply_as_f16(Op& dot) {
  ir::Builder builder = ir::Builder::before(dot);
  builder.set_where(dot.where());
  auto const wide = [&](Value* operand) {
    return builder.value(ir::CastOp{}, {operand}, operand->type().with_element(Element::f16));
  };
  std::vector<Value*> const operands = {wide(dot.lhs()), wide(dot.rhs()), dot.in<ir::DotOp>("accumulator")};
  ir::Type const type = dot.result()->type();
  ir::replace(dot, builder.create(dot.kind(), dot.attributes(), operands, {&type, 1}).result());
}

}  // namespace

PassResult expand_dots(ir::Function& function, PassContext& context) {
  std::vector<Op*> threefold, of_bytes;
  ir::walk(function, [&](Op& op) {
    auto const* const dot = op.dyn<ir::DotOp>();
    if (dot == nullptr) return;
    if (dot->precision == ir::DotPrecision::tf32x3) threefold.push_back(&op);
    if (lacks_product(op, context.target)) of_bytes.push_back(&op);
  });
  for (Op* dot : threefold) expand(*dot);
  for (Op* dot : of_bytes) multiply_as_f16(*dot);
  return result_of(!threefold.empty() || !of_bytes.empty());
}

}  // namespace tegula::transform

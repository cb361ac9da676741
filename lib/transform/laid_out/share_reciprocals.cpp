#include "transform/laid_out/share_reciprocals.hpp"

#include <cmath>
#include <vector>

#include "ir/core/builder.hpp"
#include "ir/core/rewrite.hpp"
#include "ir/core/walk.hpp"
#include "ir/values/kept_bits.hpp"
#include "transform/common/whole_kernels.hpp"

namespace tegula::transform {
namespace {

using ir::Op;
using ir::Type;
using ir::Value;

/// Tells whether this pass left a quotient where the test failed.
bool stands_behind_test(Op const& quotient) {
  Op const* const branch = quotient.parent_op();
  return branch != nullptr && branch->is<ir::IfOp>() && branch->operand()->defined_by<ir::VoteOp>() != nullptr &&
         branch->block_count() == 2 && quotient.parent() == &branch->block(1);
}

bool rewrite(Op& quotient, std::int64_t worth_a_test) {
  Op const* const wide = quotient.rhs()->defined_by<ir::BroadcastOp>();
  Type const type = quotient.result()->type();
  if (wide == nullptr || !type.is_tile() || type.element() != Element::f32 ||
      !ir::only_16_bits_kept(*quotient.result()) || stands_behind_test(quotient))
    return false;
  Value* const divisor = wide->operand();
  Type const row = divisor->type();
  if (type.elements() < worth_a_test * row.elements()) return false;
  ir::Builder builder = ir::Builder::before(quotient);
  builder.set_where(quotient.where());
  Type const bits = Type::tile(Element::boolean, row.shape(), row.layout());
  Value* const size = builder.same(ir::AbsOp{}, {divisor});
  auto const compared = [&](ir::Predicate predicate, int exponent) {
    return builder.value(ir::make_op<ir::CompareOp>(predicate),
                         {size, builder.constant(std::ldexp(1.0, exponent), row)}, bits);
  };
  Value* const within =
      builder.same(ir::AndOp{}, {compared(ir::Predicate::ge, -125), compared(ir::Predicate::le, 125)});
  Value* const normal = builder.value(ir::make_op<ir::VoteOp>(ir::Vote::all), {within}, Type::scalar(Element::boolean));
  Op& branch = builder.op(ir::IfOp{}, {normal}, {type});
  ir::Builder then(branch.add_block());
  then.set_where(quotient.where());
  Value* const reciprocal = then.same(quotient.as<ir::DivOp>(), {then.constant(1.0, row), divisor});
  Value* const factor = then.value(ir::BroadcastOp{}, {reciprocal}, wide->result()->type());
  then.op(ir::YieldOp{}, {then.same(ir::MulOp{}, {quotient.lhs(), factor})}, {});
  ir::Builder otherwise(branch.add_block());
  ir::ValueMap map;
  otherwise.op(ir::YieldOp{}, {otherwise.clone(quotient, map).result()}, {});
  ir::replace(quotient, branch.result());
  return true;
}

}  // namespace

PassResult share_reciprocals(ir::Function& function, PassContext& context) {
  if (!function.is_kernel() || !has_products_or_copies(function) || context.options.exact) return PassResult::unchanged;
  std::vector<Op*> quotients;
  ir::walk(function, [&](Op& op) {
    if (op.is<ir::DivOp>()) quotients.push_back(&op);
  });
  bool changed = false;
  for (Op* quotient : quotients) changed = rewrite(*quotient, context.target.tuning.quotients_worth_a_test) || changed;
  return result_of(changed);
}

}  // namespace tegula::transform

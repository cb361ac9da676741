#include "transform/planned/swap_operands.hpp"

#include <utility>
#include <vector>

#include "ir/core/builder.hpp"
#include "ir/core/rewrite.hpp"
#include "ir/core/walk.hpp"
#include "transform/common/carried.hpp"

namespace tegula::transform {
namespace {

using ir::Op;
using ir::Type;
using ir::Value;

Type transposed(Type const& type) { return Type::tile(type.element(), {type.shape()[1], type.shape()[0]}); }

Value* transpose(ir::Builder& builder, Value* value) {
  Op const* const op = value->defining_op();
  if (op != nullptr && op->is<ir::ConstantOp>())
    return builder.constant(op->as<ir::ConstantOp>().value, transposed(value->type()));
  if (op != nullptr && op->is<ir::TransOp>()) return op->operand();
  return builder.value(ir::make_op<ir::TransOp>(Extents{1, 0}), {value}, transposed(value->type()));
}

void rewrite(Op& dot) {
  ir::Builder builder = ir::Builder::before(dot);
  builder.set_where(dot.where());
  Type const type = transposed(dot.result()->type());
  Value* const left = transpose(builder, dot.rhs());
  Value* const right = transpose(builder, dot.lhs());
  Value* const sum = dot.in<ir::DotOp>("accumulator");
  auto const carry = own_carry(dot, *sum);
  if (!carry) {
    Value* const turned = transpose(builder, sum);
    Value* const product = builder.value(dot.as<ir::DotOp>(), {left, right, turned}, type);
    return ir::replace(dot, transpose(builder, product));
  }
  auto const& [loop, k] = *carry;
  ir::Builder before = ir::Builder::before(loop.op());
  before.set_where(dot.where());
  loop.set_init(k, transpose(before, loop.init(k)));
  sum->set_type(type);
  Value* const result = loop.result(k);
  result->set_type(type);
  ir::replace(dot, builder.value(dot.as<ir::DotOp>(), {left, right, sum}, type));
  ir::Builder after = ir::Builder::after(loop.op());
  after.set_where(loop.op().where());
  ir::replace_uses(*result, [&] { return transpose(after, result); });
}

}  // namespace

PassResult swap_operands(ir::Function& function, PassContext&) {
  if (!function.is_kernel()) return PassResult::unchanged;
  std::vector<Op*> swapped;
  ir::walk(function, [&](Op& op) {
    if (op.is<ir::DotOp>() && std::exchange(op.as<ir::DotOp>().swapped, false)) swapped.push_back(&op);
  });
  for (Op* dot : swapped) rewrite(*dot);
  return result_of(!swapped.empty());
}

}  // namespace tegula::transform

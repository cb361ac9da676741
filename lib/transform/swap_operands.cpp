#include "transform/swap_operands.hpp"

#include <vector>

#include "ir/builder.hpp"
#include "ir/rewrite.hpp"
#include "ir/walk.hpp"
#include "tegula/support/budget.hpp"
#include "transform/carried.hpp"
#include "transform/ring_lifetimes.hpp"

namespace tegula::transform {
namespace {

using ir::Op;
using ir::Type;
using ir::Value;

constexpr std::int64_t rows_of_wgmma = 64;
constexpr std::int64_t rows_of_mma = 16;
constexpr std::int64_t column_step = 8;  ///< of both
constexpr std::int64_t row_gap = 4;      ///< elements between rows that are turned

bool is_load(Value const& value) {
  Op const* const op = value.defining_op();
  return op != nullptr && (op->is<ir::LoadOp>() || (op->is<ir::TransOp>() && is_load(*op->operand(0))));
}

bool worth_it(Op const& dot) {
  Type const &a = dot.operand(0)->type(), &b = dot.operand(1)->type();
  std::int64_t const rows = a.shape()[0], columns = b.shape()[1];
  if (bytes(a.element()) > 4 || rows % column_step != 0) return false;
  // The result is turned back in shared memory, beside two stages of the operands.
  std::int64_t const stage = (rows + columns) * a.shape()[1] * bytes(a.element());
  std::int64_t const turned = columns * (rows + row_gap) * bytes(dot.result()->type().element());
  bool const for_wgmma = rows % rows_of_wgmma != 0 && columns % rows_of_wgmma == 0 && is_load(*dot.operand(0)) &&
                         is_load(*dot.operand(1)) && 2 * stage + turned + shared_reserve <= sm90::shared;
  return for_wgmma || (rows % rows_of_mma != 0 && columns % rows_of_mma == 0);
}

Type transposed(Type const& type) { return Type::tile(type.element(), {type.shape()[1], type.shape()[0]}); }

Value* transpose(ir::Builder& builder, Value* value) {
  Op const* const op = value->defining_op();
  if (op != nullptr && op->is<ir::ConstantOp>())
    return builder.constant(op->as<ir::ConstantOp>().value, transposed(value->type()));
  return builder.value(ir::make_op<ir::TransOp>(Extents{1, 0}), {value}, transposed(value->type()));
}

void rewrite(Op& dot) {
  ir::Builder builder = ir::Builder::before(dot);
  builder.set_where(dot.where());
  Type const type = transposed(dot.result()->type());
  Value* const left = transpose(builder, dot.operand(1));
  Value* const right = transpose(builder, dot.operand(0));
  int const carry = own_carry(dot, 2);
  if (carry < 0) {
    Value* const sum = transpose(builder, dot.operand(2));
    Value* const product = builder.value(dot.as<ir::DotOp>(), {left, right, sum}, type);
    return ir::replace(dot, transpose(builder, product));
  }
  Op& loop = *dot.parent_op();
  ir::Builder before = ir::Builder::before(loop);
  before.set_where(dot.where());
  loop.set_operand(carry + 3, transpose(before, loop.operand(carry + 3)));
  Value* const sum = dot.operand(2);
  sum->set_type(type);
  Value* const result = loop.result(carry);
  result->set_type(type);
  ir::replace(dot, builder.value(dot.as<ir::DotOp>(), {left, right, sum}, type));
  std::vector<ir::Use> const uses = result->uses();
  ir::Builder behind = ir::Builder::after(loop);
  behind.set_where(loop.where());
  Value* const back = transpose(behind, result);
  for (ir::Use const& use : uses) use.user->set_operand(use.index, back);
}

}  // namespace

PassResult swap_operands(ir::Function& function, AnalysisCache&, PassContext&) {
  if (!function.is_kernel()) return PassResult::unchanged;
  std::vector<Op*> dots;
  ir::walk(function, [&](Op& op) {
    if (op.is<ir::DotOp>() && worth_it(op)) dots.push_back(&op);
  });
  for (Op* dot : dots) rewrite(*dot);
  return result_of(!dots.empty());
}

}  // namespace tegula::transform

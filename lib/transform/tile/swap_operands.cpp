#include "transform/tile/swap_operands.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <vector>

#include "ir/builder.hpp"
#include "ir/rewrite.hpp"
#include "ir/walk.hpp"
#include "transform/common/carried.hpp"
#include "transform/common/dot_paths.hpp"
#include "transform/common/ring_lifetimes.hpp"

namespace tegula::transform {
namespace {

using ir::Op;
using ir::Type;
using ir::Value;

constexpr std::int64_t row_gap = 4;  ///< elements between rows that are turned

bool is_load(Value const& value) {
  Op const* const op = value.defining_op();
  return op != nullptr && (op->is<ir::LoadOp>() || (op->is<ir::TransOp>() && is_load(*op->operand())));
}

bool worth_it(Op const& dot, TargetInfo const& target) {
  Type const &a = dot.lhs()->type(), &b = dot.rhs()->type();
  std::int64_t const rows = a.shape()[0], columns = b.shape()[1];
  if (!no_tensor_core(dot).empty() || rows % target.mma.column_step != 0) return false;
  // The result is turned back in shared memory, beside two stages of the operands.
  std::int64_t const stage = (rows + columns) * a.shape()[1] * bytes(a.element());
  std::int64_t const turned = columns * (rows + row_gap) * bytes(dot.result()->type().element());
  bool const for_wgmma = a.element() != Element::f64 && rows % target.wgmma.rows != 0 &&
                         columns % target.wgmma.rows == 0 && is_load(*dot.lhs()) && is_load(*dot.rhs()) &&
                         2 * stage + turned + shared_reserve <= target.shared;
  return for_wgmma || (rows % target.mma.rows != 0 && columns % target.mma.rows == 0);
}

/// Tells whether a product alone keeps the kernel's products in fewer warpgroups, each of which takes 64 rows, and its
/// transpose does not. What it computes stays in registers or shared memory either way.
bool limits_warpgroups(Op const& dot, std::vector<Op*> const& dots, TargetInfo const& target) {
  std::int64_t const block = target.wgmma.rows;
  std::int64_t rows = 0;
  for (Op const* other : dots)
    if (other != &dot) rows = std::gcd(rows, other->lhs()->type().shape()[0]);
  return no_tensor_core(dot).empty() && bytes(dot.lhs()->type().element()) == 2 && rows % block == 0 && rows > block &&
         dot.lhs()->type().shape()[0] % rows != 0 && dot.rhs()->type().shape()[1] % rows == 0;
}

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
  std::vector<ir::Use> const uses = result->uses();
  ir::Builder behind = ir::Builder::after(loop.op());
  behind.set_where(loop.op().where());
  Value* const back = transpose(behind, result);
  for (ir::Use const& use : uses) use.user->set_operand(use.index, back);
}

template <class Wanted>
bool swap_where(ir::Function& function, Wanted const& wanted) {
  std::vector<Op*> dots, swapped;
  ir::walk(function, [&](Op& op) {
    if (op.is<ir::DotOp>()) dots.push_back(&op);
  });
  std::copy_if(dots.begin(), dots.end(), std::back_inserter(swapped),
               [&](Op const* dot) { return wanted(*dot, dots); });
  for (Op* dot : swapped) rewrite(*dot);
  return !swapped.empty();
}

}  // namespace

PassResult swap_operands(ir::Function& function, AnalysisCache&, PassContext& context) {
  if (!function.is_kernel()) return PassResult::unchanged;
  bool const worth = swap_where(function, [&](Op const& dot, auto const&) { return worth_it(dot, context.target); });
  // The rows of the products that were swapped count.
  bool const limits = swap_where(
      function, [&](Op const& dot, auto const& dots) { return limits_warpgroups(dot, dots, context.target); });
  return result_of(worth || limits);
}

}  // namespace tegula::transform

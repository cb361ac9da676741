#include "ir/values/kept_bits.hpp"

#include <algorithm>

#include "ir/core/builder.hpp"
#include "ir/core/op.hpp"
#include "ir/values/constant_of.hpp"

namespace tegula::ir {
namespace {

constexpr int max_depth = 16;  // ops between a float and one that decides

/// Tells whether the op returns numbers of at least 0, whatever its operands are.
bool returns_at_least_zero(Op const& op) {
  if (op.is<ExpOp>() || op.is<Exp2Op>() || op.is<SigmoidOp>() || op.is<AbsOp>() || op.is<ExtentOp>()) return true;
  return op.is<MulOp>() && op.lhs() == op.rhs();
}

/// Tells whether the op returns numbers of at least 0 if its one operand does.
bool keeps_sign(Op const& op) {
  if (op.is<BroadcastOp>() || op.is<ConvertLayoutOp>() || op.is<SplatOp>() || op.is<ExpandDimsOp>()) return true;
  if (op.is<CastOp>()) return is_float(op.result()->type().element());
  return op.is<ReduceOp>() && op.operand_count() == 1;
}

bool is_at_least_zero(Value const& value, int depth) {
  if (depth == 0) return false;
  if (auto const constant = constant_of(value)) return to_double(*constant) >= 0;
  Op const* const op = value.defining_op();
  if (op == nullptr) return false;
  if (returns_at_least_zero(*op)) return true;
  if (keeps_sign(*op)) return is_at_least_zero(*op->operand(), depth - 1);
  auto const sides = [&] { return is_at_least_zero(*op->lhs(), depth - 1) && is_at_least_zero(*op->rhs(), depth - 1); };
  if (op->is<FmaOp>())
    return (op->lhs() == op->rhs() || sides()) && is_at_least_zero(*op->in<FmaOp>("addend"), depth - 1);
  return (op->is<AddOp>() || op->is<MulOp>() || op->is<DivOp>()) && sides();
}

}  // namespace

bool is_at_least_zero(Value const& value) { return is_at_least_zero(value, max_depth); }

std::optional<RaisedSum> raised_sum(Op const& op) {
  if (op.result_count() != 1 || op.result()->type().element() != Element::f32) return std::nullopt;
  auto const raising = [](Value const& value) -> std::optional<double> {
    auto const constant = constant_of(value);
    if (!constant || to_double(*constant) < 0x1p-100 || to_double(*constant) > 0x1p100) return std::nullopt;
    return to_double(*constant);
  };
  if (op.is<FmaOp>()) {
    auto const by = raising(*op.in<FmaOp>("addend"));
    if (!by || !is_at_least_zero(*op.result())) return std::nullopt;
    return RaisedSum{op.lhs(), op.rhs(), *by};
  }
  if (!op.is<AddOp>()) return std::nullopt;
  for (bool swapped : {false, true}) {
    Value &raised = swapped ? *op.rhs() : *op.lhs(), &other = swapped ? *op.lhs() : *op.rhs();
    if (auto const by = raising(other); by && is_at_least_zero(raised)) return RaisedSum{&raised, nullptr, *by};
  }
  return std::nullopt;
}

bool only_raised(Value const& value) {
  auto const& uses = value.uses();
  return !uses.empty() && std::all_of(uses.begin(), uses.end(), [&](Use const& use) {
    std::optional<RaisedSum> const sum = raised_sum(*use.user);
    return sum && sum->factor == nullptr && sum->raised == &value;
  });
}

namespace {

/// Returns the reduction that a tile spreads along its axis; null: it spreads something else.
Op const* spread_reduction(Value const& value, Combine combine) {
  Op const* const broadcast = value.defined_by<BroadcastOp>();
  Op const* const reduction = broadcast == nullptr ? nullptr : broadcast->operand()->defined_by<ReduceOp>();
  bool const plain = reduction != nullptr && reduction->operand_count() == 1 &&
                     reduction->as<ReduceOp>().combine == combine &&
                     reduction->operand()->type().shape() == value.type().shape();
  return plain ? reduction : nullptr;
}

}  // namespace

bool is_share_of_row(Value const& value) {
  Op const* const power = value.defining_op();
  if (power == nullptr || !(power->is<ExpOp>() || power->is<Exp2Op>())) return false;
  Op const* const difference = power->operand()->defined_by<SubOp>();
  Op const* const max = difference == nullptr ? nullptr : spread_reduction(*difference->rhs(), Combine::max);
  if (max == nullptr || max->operand() != difference->lhs()) return false;
  auto const& uses = value.uses();
  return !uses.empty() && std::all_of(uses.begin(), uses.end(), [&](Use const& use) {
    Op const& op = *use.user;
    if (op.is<ReduceOp>())
      return op.as<ReduceOp>().axis == max->as<ReduceOp>().axis && op.as<ReduceOp>().combine == Combine::sum;
    if (!op.is<DivOp>() || op.lhs() != &value) return false;
    Op const* const sum = spread_reduction(*op.rhs(), Combine::sum);
    return sum != nullptr && sum->operand() == &value;
  });
}

namespace {

bool keeps_relative_error(Op const& op, Value const& of) {
  if (op.is<SelectOp>()) return op.operand(0) != &of;
  if (op.is<AddOp>()) return is_at_least_zero(*op.lhs()) && is_at_least_zero(*op.rhs());
  if (op.is<ReduceOp>())
    return op.as<ReduceOp>().combine == Combine::sum && op.operand_count() == 1 && is_at_least_zero(of);
  if (op.is<FmaOp>()) return is_at_least_zero(*op.result());  // neither the product nor the addend is negative
  if (op.is<SqrtOp>() || op.is<RsqrtOp>()) return true;       // halve it
  if (op.is<BroadcastOp>() || op.is<ExpandDimsOp>() || op.is<ConvertLayoutOp>()) return true;
  return op.is<MulOp>() || op.is<DivOp>() || op.is<NegOp>() || op.is<AbsOp>();
}

/// Tells whether every use of a float keeps 16 bits. `exponentials`: the argument of one may stand between.
bool keeps_16_bits(Value const& value, bool exponentials, int depth = max_depth) {
  if (depth == 0) return false;
  auto const& uses = value.uses();
  return !uses.empty() && std::all_of(uses.begin(), uses.end(), [&](Use const& use) {
    Op const& op = *use.user;
    if (op.is<CastOp>()) {
      Element const to = op.result()->type().element();
      return is_float(to) && bytes(to) <= 2;
    }
    if (op.is<FastTanhOp>()) return true;  // has no more itself
    if (op.is<YieldOp>() && op.parent_op()->is<IfOp>())
      return keeps_16_bits(*op.parent_op()->result(use.index), exponentials, depth - 1);
    if (exponentials && (op.is<ExpOp>() || op.is<Exp2Op>() || op.is<SigmoidOp>()))
      return keeps_16_bits(*op.result(), false, depth - 1);
    return keeps_relative_error(op, value) && keeps_16_bits(*op.result(), exponentials, depth - 1);
  });
}

}  // namespace

bool only_16_bits_kept(Value const& value) { return keeps_16_bits(value, false); }

bool only_16_bits_of_argument_kept(Value const& value) { return keeps_16_bits(value, true); }

}  // namespace tegula::ir

#include "ir/loop_step.hpp"

#include <algorithm>

#include "ir/builder.hpp"

namespace tegula::ir {
namespace {

/// A comparison that holds only for values of its first operand that are at least 1.
bool asks_for_positive(Op const& op) {
  if (!op.is<CompareOp>()) return false;
  auto const bound = constant_int(*op.operand(1));
  Predicate const predicate = op.as<CompareOp>().predicate;
  return bound && ((predicate == Predicate::gt && *bound >= 0) || (predicate == Predicate::ge && *bound >= 1));
}

bool is_required(Value const& value) {
  return std::any_of(value.uses().begin(), value.uses().end(), [](Use const& use) {
    if (use.index != 0 || !asks_for_positive(*use.user)) return false;
    auto const& uses = use.user->result()->uses();
    return std::any_of(uses.begin(), uses.end(), [](Use const& of) { return of.user->is<RequireOp>(); });
  });
}

bool is_positive(Value const& value) {
  if (auto const number = constant_int(value)) return *number >= 1;
  Op const* const op = value.defining_op();
  return (op != nullptr && (op->is<GridExtentOp>() || op->is<MultiprocessorsOp>())) || is_required(value);
}

}  // namespace

bool has_positive_step(Op const& loop) {
  Value const& step = *loop.operand(2);
  Op const* const op = step.defining_op();
  bool const greatest = op != nullptr && op->is<MaxOp>();
  return is_positive(step) || (greatest && (is_positive(*op->operand(0)) || is_positive(*op->operand(1))));
}

}  // namespace tegula::ir

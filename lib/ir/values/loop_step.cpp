#include "ir/values/loop_step.hpp"

#include <algorithm>

#include "ir/core/builder.hpp"
#include "ir/core/loop.hpp"

namespace tegula::ir {
namespace {

/// True for a comparison that holds only for values of its lhs that are at least 1.
bool asks_for_positive(Op const& op) {
  auto const bound = constant_int(*op.rhs());
  Predicate const predicate = op.as<CompareOp>().predicate;
  return bound && ((predicate == Predicate::gt && *bound >= 0) || (predicate == Predicate::ge && *bound >= 1));
}

bool is_required(Value const& value) {
  return std::any_of(value.uses().begin(), value.uses().end(), [](Use const& use) {
    if (!use.is<CompareOp>("lhs") || !asks_for_positive(*use.user)) return false;
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
  Value const& step = *Loop(loop).step();
  Op const* const max = step.defined_by<MaxOp>();
  return is_positive(step) || (max != nullptr && (is_positive(*max->lhs()) || is_positive(*max->rhs())));
}

}  // namespace tegula::ir

#include "transform/simplify/remove_idle_bounds.hpp"

#include <utility>
#include <vector>

#include "ir/core/rewrite.hpp"
#include "ir/core/walk.hpp"
#include "ir/values/integer_range.hpp"

namespace tegula::transform {
namespace {

using ir::Op;
using ir::Value;

/// Returns the operand that a minimum or maximum always returns; null: either may be it.
Value* always(Op const& op, analysis::AxisFacts const& facts) {
  if (!op.is<ir::MinOp>() && !op.is<ir::MaxOp>()) return nullptr;
  if (!op.result()->type().is_scalar() || !ir::has_known_order(op.result()->type().element())) return nullptr;
  analysis::ValueFacts const left = facts.facts(*op.lhs()), right = facts.facts(*op.rhs());
  bool const min = op.is<ir::MinOp>();
  if (min ? left.max <= right.min : left.min >= right.max) return op.lhs();
  if (min ? right.max <= left.min : right.min >= left.max) return op.rhs();
  return nullptr;
}

}  // namespace

PassResult remove_idle_bounds(ir::Function& function, PassContext& context) {
  std::vector<std::pair<Op*, Value*>> idle;
  ir::walk(function, [&](Op& op) {
    if (Value* const kept = always(op, context.analyses.axis_facts())) idle.emplace_back(&op, kept);
  });
  // From the last on, so that a bound of a bound finds the other still there.
  for (auto at = idle.rbegin(); at != idle.rend(); ++at) ir::replace(*at->first, at->second);
  return result_of(!idle.empty());
}

}  // namespace tegula::transform

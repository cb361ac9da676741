#include "transform/staged/clamp_coordinates.hpp"

#include <cstdint>
#include <limits>
#include <vector>

#include "ir/core/builder.hpp"
#include "ir/core/walk.hpp"
#include "ir/memory/accesses.hpp"
#include "tegula/target/tma_rules.hpp"

namespace tegula::transform {
namespace {

using ir::Op;
using ir::Value;

/// True for a TMA copy, which takes its coordinates in 32 bits.
bool has_coordinates(Op const& op) {
  return op.info().names("map") && op.info().names("offsets") && !op.is<ir::FetchOp>();
}

bool clamp(Op& op, analysis::AxisFacts const& facts) {
  using Limits = std::numeric_limits<std::int32_t>;
  Extents const box = ir::copied_box(op);
  int const first = op.position("offsets");
  ir::Builder builder = ir::Builder::before(op);
  builder.set_where(op.where());
  bool changed = false;
  for (int axis = 0; axis < box.size(); ++axis) {
    Value* at = op.operand(first + axis);
    analysis::ValueFacts const known = facts.facts(*at);
    auto const bound = [&](std::int64_t value) {
      return builder.constant(ir::make_constant(at->type().element(), value), at->type());
    };
    if (known.min < Limits::min()) at = builder.same(ir::MaxOp{}, {at, bound(-tma_rule::max_extent)});
    if (known.max > Limits::max() - box[axis]) at = builder.same(ir::MinOp{}, {at, bound(tma_rule::max_extent)});
    if (at == op.operand(first + axis)) continue;
    op.set_operand(first + axis, at);
    changed = true;
  }
  return changed;
}

}  // namespace

PassResult clamp_coordinates(ir::Function& function, PassContext& context) {
  std::vector<Op*> copies;
  ir::walk(function, [&](Op& op) {
    if (has_coordinates(op)) copies.push_back(&op);
  });
  if (copies.empty()) return PassResult::unchanged;
  analysis::AxisFacts const& facts = context.analyses.axis_facts();
  bool changed = false;
  for (Op* op : copies) changed = clamp(*op, facts) || changed;
  return result_of(changed);
}

}  // namespace tegula::transform

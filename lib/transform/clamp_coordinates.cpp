#include "transform/clamp_coordinates.hpp"

#include <cstdint>
#include <limits>
#include <vector>

#include "ir/builder.hpp"
#include "ir/walk.hpp"
#include "tegula/support/tma_rules.hpp"

namespace tegula::transform {
namespace {

using ir::Op;
using ir::Value;

/// Where the coordinates begin among the operands of a TMA copy; 0: none.
int first_coordinate(Op const& op) {
  switch (op.kind()) {
    case ir::OpKind::TmaLoadOp:
      return 3;
    case ir::OpKind::TmaStoreOp:
    case ir::OpKind::TmaReduceOp:
      return 2;
    case ir::OpKind::TmaPrefetchOp:
      return 1;
    default:
      return 0;
  }
}

/// Elements that a copy takes along each axis of its tensor.
Extents box_of(Op const& op) {
  Extents box = op.operand(op.is<ir::TmaPrefetchOp>() ? 0 : 1)->type().shape();
  while (box.size() < op.operand(0)->type().rank()) box.insert(0, 1);
  return box;
}

bool clamp(Op& op, int first, analysis::AxisFacts const& facts) {
  using Limits = std::numeric_limits<std::int32_t>;
  Extents const box = box_of(op);
  ir::Builder builder = ir::Builder::before(op);
  builder.set_where(op.where());
  bool changed = false;
  for (int axis = 0; axis < box.size(); ++axis) {
    Value* at = op.operand(first + axis);
    analysis::ValueFacts const known = facts.facts(*at);
    auto const bound = [&](std::int64_t value) {
      return builder.constant(ir::make_constant(at->type().element(), value), at->type());
    };
    if (known.least < Limits::min()) at = builder.same(ir::MaxOp{}, {at, bound(-tma_rule::most_extent)});
    if (known.greatest > Limits::max() - box[axis]) at = builder.same(ir::MinOp{}, {at, bound(tma_rule::most_extent)});
    if (at == op.operand(first + axis)) continue;
    op.set_operand(first + axis, at);
    changed = true;
  }
  return changed;
}

}  // namespace

PassResult clamp_coordinates(ir::Function& function, AnalysisCache& analyses, PassContext&) {
  std::vector<Op*> copies;
  ir::walk(function, [&](Op& op) {
    if (first_coordinate(op) != 0) copies.push_back(&op);
  });
  if (copies.empty()) return PassResult::unchanged;
  analysis::AxisFacts const& facts = analyses.axis_facts();
  bool changed = false;
  for (Op* op : copies) changed = clamp(*op, first_coordinate(*op), facts) || changed;
  return result_of(changed);
}

}  // namespace tegula::transform

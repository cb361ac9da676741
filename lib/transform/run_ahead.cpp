#include "transform/run_ahead.hpp"

#include <algorithm>
#include <optional>
#include <unordered_set>

#include "ir/walk.hpp"
#include "transform/loop_regions.hpp"

namespace tegula::transform {
namespace {

using ir::Block;
using ir::Op;
using ir::Value;

bool fills(Op const& op) { return op.is<ir::ElectOp>() && op.as<ir::ElectOp>().role == ir::Role::producer; }

/// The least number of stages of the rings that a region fills; 0: not known.
std::int64_t stages_of(Op const& fill) {
  std::int64_t least = 0;
  for (Op const& op : fill.block()) {
    if (!op.is<ir::TmaLoadOp>()) continue;
    Op const* const view = op.operand(1)->defining_op();
    if (view == nullptr || !view->is<ir::ViewOp>()) return 0;
    ir::Type const& ring = view->operand(0)->type();
    if (ring.rank() != view->result()->type().rank() + 1) return 0;
    least = least == 0 ? ring.shape()[0] : std::min(least, ring.shape()[0]);
  }
  return least;
}

/// The counter that `view %barriers, %counter mod stages` is about; null: not such a view.
Value const* use_of(Value const& barrier) {
  Op const* const view = barrier.defining_op();
  Op const* const stage = view != nullptr && view->is<ir::ViewOp>() ? view->operand(1)->defining_op() : nullptr;
  return stage != nullptr && (stage->is<ir::AndOp>() || stage->is<ir::RemOp>()) ? stage->operand(0) : nullptr;
}

/// Whether all readers give the stage that this fills back in the iteration that fills it.
bool given_back_here(Op const& fill, Op const& loop) {
  Value const* empty = nullptr;  // what the fill waits for
  for (Op const& op : fill.block())
    if (op.is<ir::MbarrierWaitOp>()) empty = op.operand(0);
  Value const* const use = empty == nullptr ? nullptr : use_of(*empty);
  if (use == nullptr) return false;
  int here = 0, elsewhere = 0;
  ir::walk_pre_order(loop.block(), [&](Op& op) {
    if (!op.is<ir::MbarrierArriveOp>()) return ir::Walk::advance;
    Op const* const view = op.operand(0)->defining_op();
    if (view == nullptr || !view->is<ir::ViewOp>() || view->operand(0) != empty->defining_op()->operand(0))
      return ir::Walk::advance;
    bool const always = op.parent_op()->parent() == &loop.block();
    (use_of(*op.operand(0)) == use && always ? here : elsewhere) += 1;
    return ir::Walk::advance;
  });
  return here > 0 && elsewhere == 0;
}

/// What the fills of a loop are computed by; nothing when that is more than indices and places.
std::optional<std::unordered_set<Op const*>> needed_by(std::vector<Op*> const& fills, Block const& body) {
  std::unordered_set<Op const*> needed;
  bool good = true;
  auto const need = [&](auto const& self, Op const& op) -> void {
    for (Value const* operand : op.operands()) {
      Op const* const from = operand->defining_op();
      if (from == nullptr || from->parent() != &body || !needed.insert(from).second) continue;
      good = good && from->pure() &&
             (from->info().has(ir::elementwise) || from->is<ir::ViewOp>() || from->is<ir::ConstantOp>());
      self(self, *from);
    }
  };
  for (Op const* fill : fills)
    ir::walk_pre_order(fill->block(), [&](Op& op) {
      need(need, op);
      return ir::Walk::advance;
    });
  if (!good) return std::nullopt;
  return needed;
}

bool let_run_ahead(Op& loop, CompileOptions const& options) {
  std::vector<Op*> fills_here;
  std::int64_t distance = 0;
  for (Op& op : loop.block()) {
    if (!fills(op)) continue;
    fills_here.push_back(&op);
    std::int64_t const stages = stages_of(op);
    std::int64_t const most = stages > 1 && given_back_here(op, loop) ? stages : stages - 1;
    distance = fills_here.size() == 1 ? most : std::min(distance, most);
  }
  if (std::int64_t const asked = loop.as<ir::ForOp>().distance; asked != 0) distance = std::min(distance, asked);
  if (fills_here.empty() || distance < 1) return false;
  auto const needed = needed_by(fills_here, loop.block());
  if (!needed) return false;
  std::vector<StagedOp> order;
  for (Op& op : loop.block())
    if (!fills(op) && needed->count(&op) == 0 && !op.info().has(ir::terminator))
      order.push_back({&op, static_cast<int>(distance)});
  for (Op* fill : fills_here) order.push_back({fill, 0});
  LoopPipeline pipeline(loop, std::move(order));
  if (!pipeline.trouble().empty()) return false;
  for (Op* fill : fills_here) fill->as<ir::ElectOp>().role = ir::Role::none;
  pipeline.rewrite(options.epilogue == Choice::off ? Tail::predicated : Tail::epilogue);
  return true;
}

}  // namespace

PassResult run_ahead(ir::Function& function, AnalysisCache&, PassContext& context) {
  if (!function.is_kernel()) return PassResult::unchanged;
  std::vector<Op*> loops;
  bool specialised = false;
  ir::walk(function, [&](Op& op) {
    if (op.is<ir::ForOp>()) loops.push_back(&op);
    specialised = specialised || op.is<ir::WarpSpecializeOp>();
  });
  if (specialised) return PassResult::unchanged;
  bool changed = false;
  for (Op* op : loops) changed = let_run_ahead(*op, context.options) || changed;
  return result_of(changed);
}

}  // namespace tegula::transform

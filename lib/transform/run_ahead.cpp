#include "transform/run_ahead.hpp"

#include <algorithm>
#include <optional>
#include <unordered_set>

#include "ir/builder.hpp"
#include "ir/rewrite.hpp"
#include "ir/walk.hpp"

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

/// One loop and what its fills are made of.
class Loop {
 public:
  explicit Loop(Op& loop) : loop_(loop) {}

  /// Finds the fills, their distance and the ops that they need; false when they cannot run ahead.
  bool analyse() {
    for (Op& op : loop_.block()) {
      if (!fills(op)) continue;
      fills_.push_back(&op);
      std::int64_t const stages = stages_of(op);
      distance_ = fills_.size() == 1 ? stages - 1 : std::min(distance_, stages - 1);
    }
    if (fills_.empty() || distance_ < 1) return false;
    for (Op const* fill : fills_)
      for (Op const& op : fill->block())
        for (Value* operand : op.operands())
          if (!need(*operand, *fill)) return false;
    return true;
  }

  void rewrite() {
    Value *const lower = loop_.operand(0), *const upper = loop_.operand(1), *const step = loop_.operand(2);
    ir::Builder before = ir::Builder::before(loop_);
    before.set_where(loop_.where());
    // Prologue.
    Value* at = lower;
    for (std::int64_t turn = 0; turn < distance_; ++turn) {
      if (turn > 0) at = before.same(ir::AddOp{}, {at, step});
      Value* const inside =
          before.value(ir::make_op<ir::CompareOp>(ir::Predicate::lt), {at, upper}, ir::Type::scalar(Element::boolean));
      Op& branch = before.op(ir::IfOp{}, {inside}, {});
      ir::Builder then(branch.add_block());
      fill(then, at, turn, true);
      then.op(ir::YieldOp{}, {}, {});
      ir::Builder(branch.add_block()).op(ir::YieldOp{}, {}, {});
    }
    // Where the main loop stops.
    Value* const ahead = before.same(ir::MulOp{}, {step, before.index(distance_)});
    Value* const stop = before.same(ir::SubOp{}, {upper, ahead});
    Value* const length = before.same(ir::MaxOp{}, {before.same(ir::SubOp{}, {stop, lower}), before.index(0)});
    Value* const turns = before.same(ir::CeilDivOp{}, {length, step});
    Value* const stopped = before.same(ir::AddOp{}, {lower, before.same(ir::MulOp{}, {turns, step})});
    // Epilogue: the loop without its fills, from what the main loop leaves.
    ir::ValueMap map;
    Op& epilogue = ir::Builder::after(loop_).clone(loop_, map);
    for (int i = 0; i < loop_.result_count(); ++i) {
      loop_.result(i)->replace_all_uses_with(*epilogue.result(i));
      epilogue.set_operand(i + 3, loop_.result(i));
    }
    epilogue.set_operand(0, stopped);
    std::vector<Op*> copies;
    for (Op& op : epilogue.block())
      if (fills(op)) copies.push_back(&op);
    for (Op* op : copies) op->erase();
    // Main loop.
    loop_.set_operand(1, stop);
    ir::Builder end = ir::Builder::before(loop_.block().back());
    end.set_where(loop_.where());
    fill(end, end.same(ir::AddOp{}, {loop_.block().argument(0), ahead}), distance_, false);
    for (Op* op : fills_) op->erase();
  }

 private:
  /// Takes what computes a value in the loop; false when another iteration's cannot be computed.
  bool need(Value& value, Op const& fill) {
    if (Op* const op = value.defining_op()) {
      if (op->parent() == &fill.block() || !in_loop(*op)) return true;
      if (op->parent() != &loop_.block() || !op->pure() || !op->info().has(ir::elementwise)) {
        bool const place = op->is<ir::ViewOp>() || op->is<ir::ConstantOp>();
        if (op->parent() != &loop_.block() || !place) return false;
      }
      if (!needed_.insert(op).second) return true;
      for (Value* operand : op->operands())
        if (!need(*operand, fill)) return false;
      return true;
    }
    if (value.owner_block() != &loop_.block() || value.index() == 0) return true;
    return counts_by(value).has_value();
  }
  [[nodiscard]] bool in_loop(Op const& op) const {
    for (Op const* at = &op; at != nullptr; at = at->parent_op())
      if (at->parent() == &loop_.block()) return true;
    return false;
  }
  /// What one iteration adds to a carried number.
  [[nodiscard]] std::optional<std::int64_t> counts_by(Value const& carried) const {
    Op const* const next = loop_.block().back().operand(carried.index() - 1)->defining_op();
    if (next == nullptr || !next->is<ir::AddOp>() || next->operand(0) != &carried) return std::nullopt;
    return ir::constant_int(*next->operand(1));
  }

  /// The fills of another iteration: of index `at`, so many turns on. `start`: before the loop, else in it.
  void fill(ir::Builder& builder, Value* at, std::int64_t turns, bool start) {
    Block& body = loop_.block();
    ir::ValueMap map;
    map[body.argument(0)] = at;
    for (int i = 1; i < body.argument_count(); ++i) {
      auto const by = counts_by(*body.argument(i));
      if (!by) continue;
      Value* const from = start ? loop_.operand(i + 2) : body.argument(i);
      map[body.argument(i)] = builder.same(ir::AddOp{}, {from, builder.index(turns * *by)});
    }
    for (Op const& op : body) {
      bool const filling = std::find(fills_.begin(), fills_.end(), &op) != fills_.end();
      if (!filling && needed_.count(&op) == 0) continue;
      Op& copy = builder.clone(op, map);
      if (filling) copy.as<ir::ElectOp>().role = ir::Role::none;
    }
  }

  Op& loop_;
  std::vector<Op*> fills_;
  std::int64_t distance_ = 0;
  std::unordered_set<Op const*> needed_;
};

}  // namespace

PassResult run_ahead(ir::Function& function, AnalysisCache&, PassContext&) {
  if (!function.is_kernel()) return PassResult::unchanged;
  std::vector<Op*> loops;
  bool specialised = false;
  ir::walk(function, [&](Op& op) {
    if (op.is<ir::ForOp>()) loops.push_back(&op);
    specialised = specialised || op.is<ir::WarpSpecializeOp>();
  });
  if (specialised) return PassResult::unchanged;
  bool changed = false;
  for (Op* op : loops) {
    Loop loop(*op);
    if (!loop.analyse()) continue;
    loop.rewrite();
    changed = true;
  }
  return result_of(changed);
}

}  // namespace tegula::transform

#include "transform/staged/load_ahead.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "analysis/effects.hpp"
#include "analysis/register_pressure.hpp"
#include "ir/core/builder.hpp"
#include "ir/core/families.hpp"
#include "ir/core/loop.hpp"
#include "ir/core/rewrite.hpp"
#include "ir/core/walk.hpp"

namespace tegula::transform {
namespace {

using ir::Op;
using ir::Value;

/// Returns the ops of the body that compute the operands of a load, in order. Nothing: they need more than the counter
/// and values from outside, or only the latter.
std::optional<std::vector<Op*>> places(Op const& load, ir::Loop const& loop) {
  std::vector<Op const*> needed;
  bool good = true, counts = false;
  auto const need = [&](auto const& self, Op const& op) -> void {
    for (Value const* operand : op.operands()) {
      counts = counts || operand == loop.counter();
      good = good && loop.carry_of(*operand) < 0;
      Op const* const from = operand->defining_op();
      if (from == nullptr || from->parent() != &loop.body()) continue;
      if (std::find(needed.begin(), needed.end(), from) != needed.end()) continue;
      good = good && from->pure() && from->block_count() == 0 && from->result()->type().is_scalar();
      if (!good) return;
      needed.push_back(from);
      self(self, *from);
    }
  };
  need(need, load);
  if (!good || !counts) return std::nullopt;
  std::vector<Op*> result;
  for (Op& op : loop.body())
    if (std::find(needed.begin(), needed.end(), &op) != needed.end()) result.push_back(&op);
  return result;
}

/// Tells whether a load may run ahead. One that only the next iteration reads does so already.
bool may_move(Op const& load) {
  if (!load.is<ir::LoadOp>() || !analysis::reads_constant_memory(load)) return false;
  auto const& uses = load.result()->uses();
  bool const is_read =
      std::any_of(uses.begin(), uses.end(), [](ir::Use const& use) { return !use.user->is<ir::YieldOp>(); });
  return is_read && load.in<ir::LoadOp>("tensor")->defining_op() == nullptr;
}

/// Loads with the counter's value.
Value* load_at(ir::Builder& builder, Op const& load, std::vector<Op*> const& places, ir::Loop const& loop,
               Value* counter) {
  builder.set_where(load.where());
  ir::ValueMap map;
  map[loop.counter()] = counter;
  for (Op const* op : places) builder.clone(*op, map);
  return builder.clone(load, map).result();
}

/// Moves what fits into `free` registers. Returns false if nothing does.
bool run_loop(Op& op, int free) {
  ir::Loop const loop(op);
  std::vector<Op*> loads;
  for (Op& each : loop.body())
    if (may_move(each)) loads.push_back(&each);
  bool changed = false;
  Value* next = nullptr;
  for (Op* load : loads) {
    auto const computed = places(*load, loop);
    int const registers = analysis::registers_of(*load->result());
    if (!computed || registers > free) continue;
    free -= registers;
    ir::Builder before = ir::Builder::before(op);
    Value* const first = load_at(before, *load, *computed, loop, loop.lower());
    ir::Builder here = ir::Builder::before(*load);
    here.set_where(load->where());
    if (next == nullptr) {
      ir::Builder start = ir::Builder::before(loop.body().front());
      start.set_where(load->where());
      Value* const following = start.same(ir::AddOp{}, {loop.counter(), loop.step()});
      Value* const runs = start.value(ir::make_op<ir::CompareOp>(ir::Predicate::lt), {following, loop.upper()},
                                      ir::Type::scalar(Element::boolean));
      // The last iteration loads its own tile again: all that does not follow from the counter is the same each time.
      next = start.value(ir::SelectOp{}, {runs, following, loop.counter()}, ir::Type::index());
    }
    Value* const later = load_at(here, *load, *computed, loop, next);
    Value* const carried = loop.add_carry(first);
    load->result()->replace_all_uses_with(*carried);
    load->erase();
    loop.yield().add_operand(later);
    changed = true;
  }
  return changed;
}

/// Returns the registers of a thread that runs a block, and the block whose values it holds.
struct Thread {
  ir::Block* block;
  int registers;
};

Thread thread_of(Op& loop, ir::Function& function, TargetInfo const& target) {
  for (Op *at = loop.parent_op(), *inner = &loop; at != nullptr; inner = at, at = at->parent_op()) {
    if (!at->is<ir::WarpSpecializeOp>()) continue;
    for (int i = 0; i < at->block_count(); ++i)
      if (&at->block(i) == inner->parent())
        return {&at->block(i), static_cast<int>(at->as<ir::WarpSpecializeOp>().registers[i])};
  }
  int const warps = function.warps * static_cast<int>(std::max<std::int64_t>(function.ctas, 1));
  return {&function.body(), target.registers_at_start(warps)};
}

}  // namespace

PassResult load_ahead(ir::Function& function, PassContext& context) {
  if (!function.is_kernel()) return PassResult::unchanged;
  std::vector<Op*> loops;
  ir::walk(function, [&](Op& op) {
    if (!op.is<ir::ForOp>()) return;
    auto const& loop = op.as<ir::ForOp>();
    if (loop.stages > 1 || loop.region == ir::LoopRegion::main) loops.push_back(&op);
  });
  bool changed = false;
  for (Op* loop : loops) {
    Thread const thread = thread_of(*loop, function, context.target);
    int const free =
        thread.registers - analysis::register_pressure(*thread.block) - context.target.tuning.registers_beside_loads;
    changed = run_loop(*loop, free) || changed;
  }
  return result_of(changed);
}

}  // namespace tegula::transform

#include "ir/core/rewrite.hpp"
#include "ir/values/trip_count.hpp"
#include "transform/common/carried.hpp"
#include "transform/common/fold.hpp"
#include "transform/simplify/canonicalize_rules.hpp"

namespace tegula::transform::rules {
namespace {

using ir::Block;
using ir::Loop;
using ir::Op;
using ir::Value;

/// Returns the values of a block's yield.
std::vector<Value*> yielded(Block const& block) {
  auto const operands = block.back().operands();
  return {operands.begin(), operands.end()};
}

/// Moves the ops of a block in front of `op`, replaces its results by the block's yielded values, and erases op.
void take_block(Op& op, Block& block) {
  ir::splice_before(op, block);
  std::vector<Value*> values = yielded(block);
  ir::replace(op, values);
}

bool inside(Value const& value, Op const& op) {
  Block const* block = value.owner_block() != nullptr ? value.owner_block() : value.defining_op()->parent();
  for (; block != nullptr; block = block->parent_op() == nullptr ? nullptr : block->parent_op()->parent())
    if (block->parent_op() == &op) return true;
  return false;
}

bool known_trip_count(Loop const& loop) {
  auto const trips = ir::trip_count(loop.op());
  if (trips == 0) {
    std::vector<Value*> inits(loop.inits().begin(), loop.inits().end());
    ir::replace(loop.op(), inits);
    return true;
  }
  if (trips != 1) return false;
  loop.counter()->replace_all_uses_with(*loop.lower());
  for (int k = 0; k < loop.count(); ++k) loop.carried(k)->replace_all_uses_with(*loop.init(k));
  take_block(loop.op(), loop.body());
  return true;
}

/// Replaces a carried value by its start if every iteration passes it on unchanged, or sets it to its start.
bool unchanged_carries(Loop const& loop) {
  bool changed = false;
  for (int k = loop.count() - 1; k >= 0; --k) {
    Value& init = *loop.init(k);
    if (loop.yielded(k) != loop.carried(k) && loop.yielded(k) != &init) continue;
    loop.carried(k)->replace_all_uses_with(init);
    loop.result(k)->replace_all_uses_with(init);
    loop.remove_carry(k);
    changed = true;
  }
  return changed;
}

bool counted(Loop const& loop) { return known_trip_count(loop) || unchanged_carries(loop); }

bool branch(Op& op) {
  if (auto const condition = constant_of(*op.in<ir::IfOp>("condition"))) {
    take_block(op, op.block(condition->bits != 0 ? 0 : 1));
    return true;
  }
  bool changed = false;
  for (int i = op.result_count() - 1; i >= 0; --i) {
    Value* const value = op.block(0).back().in<ir::YieldOp>("values", i);
    if (value != op.block(1).back().in<ir::YieldOp>("values", i) || inside(*value, op)) continue;
    op.result(i)->replace_all_uses_with(*value);
    remove_branch_result(op, i);
    changed = true;
  }
  return changed;
}

}  // namespace

bool control(Op& op) {
  if (op.is<ir::ForOp>()) return counted(Loop(op));
  if (op.is<ir::IfOp>()) return branch(op);
  if (!op.is<ir::RequireOp>()) return false;
  auto const condition = constant_of(*op.in<ir::RequireOp>("condition"));
  if (!condition || condition->bits == 0) return false;
  op.erase();
  return true;
}

}  // namespace tegula::transform::rules

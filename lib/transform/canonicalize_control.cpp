#include "ir/rewrite.hpp"
#include "ir/trip_count.hpp"
#include "transform/canonicalize_rules.hpp"
#include "transform/carried.hpp"
#include "transform/fold.hpp"

namespace tegula::transform::rules {
namespace {

using ir::Block;
using ir::Op;
using ir::Value;

/// The values that a block's yield gives.
std::vector<Value*> yielded(Block const& block) {
  auto const operands = block.back().operands();
  return {operands.begin(), operands.end()};
}

/// Puts the ops of a block in front of `op`, whose results become what the block yields, and erases op.
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

bool known_trip_count(Op& op) {
  auto const trips = ir::trip_count(op);
  if (trips == 0) {
    std::vector<Value*> inits(op.operands().begin() + 3, op.operands().end());
    ir::replace(op, inits);
    return true;
  }
  if (trips != 1) return false;
  Block& body = op.block();
  for (int i = 0; i < body.argument_count(); ++i)
    body.argument(i)->replace_all_uses_with(*op.operand(i == 0 ? 0 : i + 2));
  take_block(op, body);
  return true;
}

/// A carried value that every iteration hands on as it is, or sets to what it was at the start, is its start.
bool unchanged_carries(Op& op) {
  bool changed = false;
  for (int i = op.result_count() - 1; i >= 0; --i) {
    Value* const next = op.block().back().operand(i);
    Value* const argument = op.block().argument(i + 1);
    Value* const init = op.operand(i + 3);
    if (next != argument && next != init) continue;
    argument->replace_all_uses_with(*init);
    op.result(i)->replace_all_uses_with(*init);
    remove_carry(op, i);
    changed = true;
  }
  return changed;
}

bool loop(Op& op) { return known_trip_count(op) || unchanged_carries(op); }

bool branch(Op& op) {
  if (auto const condition = constant_of(*op.operand(0))) {
    take_block(op, op.block(condition->bits != 0 ? 0 : 1));
    return true;
  }
  bool changed = false;
  for (int i = op.result_count() - 1; i >= 0; --i) {
    Value* const value = op.block(0).back().operand(i);
    if (value != op.block(1).back().operand(i) || inside(*value, op)) continue;
    op.result(i)->replace_all_uses_with(*value);
    remove_branch_result(op, i);
    changed = true;
  }
  return changed;
}

}  // namespace

bool control(Op& op) {
  if (op.is<ir::ForOp>()) return loop(op);
  if (op.is<ir::IfOp>()) return branch(op);
  if (!op.is<ir::RequireOp>()) return false;
  auto const condition = constant_of(*op.operand(0));
  if (!condition || condition->bits == 0) return false;
  op.erase();
  return true;
}

}  // namespace tegula::transform::rules

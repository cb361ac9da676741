#include "transform/common/dead_code.hpp"

#include <unordered_set>

#include "analysis/effects.hpp"
#include "ir/core/walk.hpp"
#include "transform/common/carried.hpp"

namespace tegula::transform {
namespace {

using ir::Block;
using ir::Op;
using ir::Value;

/// Finds the values that the wanted ops need. Loops and branches live value by value: a carried value lives if its
/// result or its block argument does.
class Liveness {
 public:
  Liveness(Block& block, std::function<bool(Op const&)> const& wanted) {
    ir::walk_pre_order(block, [&](Op& op) {
      if (wanted(op)) mark(op);
      return ir::Walk::advance;
    });
    while (!work_.empty()) {
      Value* const value = work_.back();
      work_.pop_back();
      follow(*value);
    }
  }

  [[nodiscard]] bool live(Op const& op) const { return ops_.count(&op) != 0; }
  [[nodiscard]] bool live(Value const& value) const { return values_.count(&value) != 0; }

 private:
  void mark(Value& value) {
    if (values_.insert(&value).second) work_.push_back(&value);
  }

  /// Marks an op as run: keeps it and the ops around it, with the operands that they need for running at all.
  void mark(Op& op) {
    if (!ops_.insert(&op).second) return;
    if (op.is<ir::ForOp>()) {
      ir::Loop const loop(op);
      for (Value* const bound : {loop.lower(), loop.upper(), loop.step()}) mark(*bound);
    } else {
      for (Value* const operand : op.operands()) mark(*operand);
    }
    if (op.is<ir::RepeatOp>()) {  // keeps all that it carries
      for (int i = 0; i < op.result_count(); ++i) mark(*op.result(i));
      for (Value* const value : op.block().back().operands()) mark(*value);
    }
    if (Op* const around = op.parent_op()) mark(*around);
  }

  void follow(Value& value) {
    Op* const op = value.defining_op();
    if (op == nullptr) {
      Op* const loop = value.owner_block()->parent_op();
      if (loop == nullptr) return;
      mark(*loop);
      if (auto const carry = carry_of(value)) follow(*carry);
      return;
    }
    mark(*op);
    if (op->is<ir::ForOp>()) follow({ir::Loop(*op), value.index()});
    if (op->is<ir::IfOp>())
      for (int b = 0; b < 2; ++b) mark(*op->block(b).back().in<ir::YieldOp>("values", value.index()));
  }

  void follow(Carry const& carry) {
    auto const& [loop, k] = carry;
    mark(*loop.result(k));
    mark(*loop.carried(k));
    mark(*loop.init(k));
    mark(*loop.yielded(k));
  }

  std::unordered_set<Op const*> ops_;
  std::unordered_set<Value const*> values_;
  std::vector<Value*> work_;
};

/// Erases users before definitions, so that an op's results are unused when its turn comes. Interfaces of kept loops
/// and branches first lose the yields that hold dead values.
bool sweep(Block& block, Liveness const& liveness) {
  bool changed = false;
  ir::walk_backward(block, [&](Op& op) {
    if (op.info().has(ir::terminator)) return ir::Walk::skip;
    if (!liveness.live(op)) {
      op.erase();
      changed = true;
      return ir::Walk::skip;
    }
    for (int i = op.block_count() == 0 ? -1 : op.result_count() - 1; i >= 0; --i) {
      if (liveness.live(*op.result(i))) continue;
      if (op.is<ir::IfOp>()) {
        remove_branch_result(op, i);
      } else {
        // The ops that compute the next value are dead and still use the argument; they go with the rest of the body.
        ir::Loop const loop(op);
        loop.carried(i)->replace_all_uses_with(*loop.init(i));
        loop.remove_carry(i);
      }
      changed = true;
    }
    return ir::Walk::advance;
  });
  return changed;
}

}  // namespace

bool keep_only(Block& block, std::function<bool(Op const&)> const& wanted) {
  Liveness const liveness(block, wanted);
  return sweep(block, liveness);
}

bool runs_by_itself(Op const& op) {
  bool const ends_function = op.info().has(ir::terminator) && op.parent_op() == nullptr;
  return ends_function || (op.block_count() == 0 && !op.info().has(ir::terminator) && !analysis::removable(op));
}

void erase_unused(std::vector<Value*> const& values) {
  std::vector<Op*> ops;  // after those that give their operands
  std::unordered_set<Op const*> seen;
  auto const visit = [&](auto const& self, Value const& value) -> void {
    Op* const op = value.defining_op();
    if (op == nullptr || op->block_count() != 0 || !analysis::removable(*op) || !seen.insert(op).second) return;
    for (Value const* operand : op->operands()) self(self, *operand);
    ops.push_back(op);
  };
  for (Value const* value : values) visit(visit, *value);
  for (std::size_t i = ops.size(); i-- > 0;) {
    bool unused = true;
    for (int k = 0; k < ops[i]->result_count(); ++k) unused = unused && ops[i]->result(k)->unused();
    if (unused) ops[i]->erase();
  }
}

}  // namespace tegula::transform

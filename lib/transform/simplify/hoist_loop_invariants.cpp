#include "transform/simplify/hoist_loop_invariants.hpp"

#include <set>

#include "analysis/effects.hpp"
#include "ir/core/walk.hpp"

namespace tegula::transform {
namespace {

using ir::Op;
using ir::Value;

/// Finds the invariants of one loop's own block.
class Invariants {
 public:
  explicit Invariants(Op& loop) : loop_(loop), writes_(analysis::effects_of(loop).writes) {
    for (Op& op : loop.block())
      if (invariant(op)) ops_.insert(&op);
  }

  bool hoist() {
    std::vector<Op*> moving;
    for (Op& op : loop_.block())
      if (ops_.count(&op) != 0 && worth(op)) take(op);
    for (Op& op : loop_.block())
      if (taken_.count(&op) != 0) moving.push_back(&op);
    for (Op* op : moving) op->move_before(loop_);
    return !moving.empty();
  }

 private:
  bool invariant(Op const& op) const {
    if (op.block_count() != 0 || op.result_count() == 0) return false;
    bool const movable = analysis::is_movable(op) || (analysis::is_global_read(op) && !writes_);
    if (!movable) return false;
    for (Value const* operand : op.operands()) {
      Op const* const definition = operand->defining_op();
      if (definition == nullptr ? operand->owner_block() == &loop_.block()
                                : definition->parent() == &loop_.block() && ops_.count(definition) == 0)
        return false;
    }
    return true;
  }

  static bool worth(Op const& op) {
    ir::Type const& type = op.result()->type();
    return type.is_scalar() || op.is<ir::ConstantOp>() ||
           (!op.info().has(ir::rearranges) && !op.is<ir::IotaOp>() && !widens(op));
  }

  /// Tells whether a cast widens its tile: the narrow one takes fewer registers from one iteration to the next.
  static bool widens(Op const& op) {
    return op.is<ir::CastOp>() && bytes(op.result()->type().element()) > bytes(op.operand()->type().element());
  }

  /// Moves an op together with the ops that compute its operands.
  void take(Op& op) {
    if (!taken_.insert(&op).second) return;
    for (Value* operand : op.operands())
      if (operand->defining_op() != nullptr && ops_.count(operand->defining_op()) != 0) take(*operand->defining_op());
  }

  Op& loop_;
  bool writes_;
  std::set<Op const*> ops_;
  std::set<Op const*> taken_;
};

}  // namespace

PassResult hoist_loop_invariants(ir::Function& function, PassContext&) {
  bool changed = false;
  ir::walk(function, [&](Op& op) {
    if (op.is<ir::ForOp>()) changed = Invariants(op).hoist() || changed;
  });
  return result_of(changed);
}

}  // namespace tegula::transform

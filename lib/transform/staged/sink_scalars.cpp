#include "transform/staged/sink_scalars.hpp"

#include <algorithm>
#include <unordered_set>
#include <vector>

#include "ir/core/op.hpp"
#include "ir/core/walk.hpp"
#include "transform/common/ring_lifetimes.hpp"

namespace tegula::transform {
namespace {

using ir::Block;
using ir::Op;
using ir::Value;

/// Finds the loop whose products a wait ends; null: there is none in its block.
Op* loop_of(Op& wait) {
  if (wait.result_count() == 0) return nullptr;
  Op* const from = wait.operand(0)->defining_op();
  return from != nullptr && from->is<ir::ForOp>() && from->parent() == wait.parent() ? from : nullptr;
}

bool is_scalar_arithmetic(Op const& op) {
  return op.pure() && op.is(ir::Family::elementwise) && op.result_count() == 1 && op.result()->type().is_scalar();
}

/// Finds the ops before `loop` that only ops from `wait` on use, in the order of the text.
std::vector<Op*> needed_behind(Op const& loop, Op const& wait) {
  Block& block = *loop.parent();
  std::unordered_set<Op const*> late;  // ops that run at the wait or after it
  std::vector<Op*> before, found;
  bool ahead = true, after = false;
  for (Op& op : block) {
    ahead = ahead && &op != &loop;
    after = after || &op == &wait;
    if (ahead) before.push_back(&op);
    if (after) late.insert(&op);
  }
  for (auto at = before.rbegin(); at != before.rend(); ++at) {
    Op& op = **at;
    if (!is_scalar_arithmetic(op) || op.result()->uses().empty()) continue;
    auto const& uses = op.result()->uses();
    bool const only_late = std::all_of(
        uses.begin(), uses.end(), [&](ir::Use const& use) { return late.count(ancestor_in(*use.user, block)) != 0; });
    if (!only_late) continue;
    late.insert(&op);
    found.push_back(&op);
  }
  std::reverse(found.begin(), found.end());
  return found;
}

/// Finds the op that sunk scalars stand before: the wait, so that they run beside the last products, if the results go
/// through shared memory. Threads that store results from registers need these in other registers: ptxas 13.0 copies
/// them ahead of a wait that does not stand first after the loop, and serialises the products (C7514).
Op& place_of(Op& wait) {
  Op* place = nullptr;
  bool after = false, staged = false;
  ir::walk_pre_order(*wait.parent(), [&](Op& op) {
    after = after || &op == &wait;
    if (after && place == nullptr && !op.is<ir::WgmmaWaitOp>()) place = &op;
    staged = staged || (after && op.is<ir::BufferStoreOp>());
    return ir::Walk::advance;
  });
  return staged ? wait : *place;
}

}  // namespace

PassResult sink_scalars(ir::Function& function, PassContext&) {
  if (!function.is_kernel()) return PassResult::unchanged;
  std::vector<Op*> waits;
  ir::walk(function, [&](Op& op) {
    if (op.is<ir::WgmmaWaitOp>() && loop_of(op) != nullptr) waits.push_back(&op);
  });
  bool changed = false;
  for (Op* wait : waits) {
    Op& place = place_of(*wait);
    for (Op* op : needed_behind(*loop_of(*wait), *wait)) {
      op->move_before(place);
      changed = true;
    }
  }
  return result_of(changed);
}

}  // namespace tegula::transform

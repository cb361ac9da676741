#include "transform/laid_out/join_reductions.hpp"

#include <algorithm>
#include <unordered_set>
#include <vector>

#include "ir/core/walk.hpp"
#include "ir/memory/exchange.hpp"

namespace tegula::transform {
namespace {

using ir::Op;
using ir::Value;

/// Looks so many ops ahead, and moves so many at most.
constexpr int reach = 256;
constexpr std::size_t most_moved = 32;

/// Joins reductions of one block.
class Joiner {
 public:
  explicit Joiner(ir::Block& block) {
    for (Op& op : block) ops_.push_back(&op);
  }

  bool run() {
    bool changed = false;
    for (std::size_t at = 0; at < ops_.size(); ++at)
      if (ops_[at]->is<ir::ReduceOp>() && ir::exchanges_once(*ops_[at])) changed = join(at) || changed;
    return changed;
  }

 private:
  /// Moves the next reduction that may come just behind the one at this place.
  bool join(std::size_t at) {
    std::unordered_set<Op const*> needs = {ops_[at]};  // the result of the first one
    bool needed = false;
    for (std::size_t i = at + 1; i < std::min(at + reach, ops_.size()); ++i) {
      Op& op = *ops_[i];
      bool const follows = depends(op, needs);
      if (follows) needs.insert(&op);
      bool const candidate = op.is<ir::ReduceOp>() && ir::exchanges_once(op);
      if (candidate && !follows) return needed && move_behind(at, i, needs);
      needed = needed || follows;
      if (candidate) return false;
    }
    return false;
  }

  static bool depends(Op const& op, std::unordered_set<Op const*> const& needs) {
    bool found = false;
    auto const look = [&](Op const& one) {
      for (Value const* operand : one.operands()) found = found || needs.contains(operand->defining_op());
    };
    look(op);
    for (int i = 0; i < op.block_count() && !found; ++i) ir::walk(op.block(i), [&](Op const& inside) { look(inside); });
    return found;
  }

  /// Moves the op at `from` and what it is computed from behind the one at `at`, if all of that is arithmetic of
  /// threads.
  bool move_behind(std::size_t at, std::size_t from, std::unordered_set<Op const*> const& needs) {
    std::unordered_set<Op const*> taken = {ops_[from]};
    std::vector<std::size_t> places;
    for (std::size_t i = from; i > at; --i) {
      Op const& op = *ops_[i];
      if (!taken.contains(&op)) continue;
      if (needs.contains(&op) || (i != from && !ir::stays_in_thread(op)) || places.size() == most_moved) return false;
      places.push_back(i);
      for (Value const* operand : op.operands())
        if (operand->defining_op() != nullptr) taken.insert(operand->defining_op());
    }
    std::reverse(places.begin(), places.end());
    std::vector<Op*> order(ops_.begin(), ops_.begin() + static_cast<std::ptrdiff_t>(at) + 1);
    for (std::size_t const place : places) {
      ops_[place]->move_before(*ops_[at + 1]);
      order.push_back(ops_[place]);
    }
    for (std::size_t i = at + 1; i < ops_.size(); ++i)
      if (!std::binary_search(places.begin(), places.end(), i)) order.push_back(ops_[i]);
    ops_ = std::move(order);
    return true;
  }

  std::vector<Op*> ops_;
};

}  // namespace

PassResult join_reductions(ir::Function& function, PassContext&) {
  std::vector<ir::Block*> blocks;
  ir::walk(function, [&](Op& op) {
    if (op.is<ir::ReduceOp>() && std::find(blocks.begin(), blocks.end(), op.parent()) == blocks.end())
      blocks.push_back(op.parent());
  });
  bool changed = false;
  for (ir::Block* block : blocks) changed = Joiner(*block).run() || changed;
  return result_of(changed);
}

}  // namespace tegula::transform

#include "analysis/shared_buffers.hpp"

#include <algorithm>
#include <set>

#include "ir/core/families.hpp"
#include "ir/core/loop.hpp"
#include "ir/core/walk.hpp"
#include "ir/memory/accesses.hpp"

namespace tegula::analysis {

using namespace ir;

namespace {

void collect(Value const& value, std::set<Value const*>& seen, std::vector<Op const*>& found);

/// Collects the buffers of carried value k: of its init and of the values that iterations yield.
void collect_carried(Loop const& loop, int k, std::set<Value const*>& seen, std::vector<Op const*>& found) {
  if (loop.body().terminator() != nullptr) collect(*loop.yielded(k), seen, found);
  collect(*loop.init(k), seen, found);
}

void collect(Value const& value, std::set<Value const*>& seen, std::vector<Op const*>& found) {
  if (!seen.insert(&value).second) return;
  if (Op const* const op = value.defining_op(); op != nullptr) {
    if (op->is<BufferAllocOp>()) {
      if (std::find(found.begin(), found.end(), op) == found.end()) found.push_back(op);
    } else if (op->is<ViewOp>() || op->is<TransViewOp>()) {
      collect(*op->in("source"), seen, found);
    } else if (is_loop(*op)) {
      collect_carried(Loop(*op), value.index(), seen, found);
    } else {  // a result of a branch, if any
      for (int b = 0; b < op->block_count(); ++b)
        if (Op const* const end = op->block(b).terminator(); end != nullptr)
          collect(*end->operand(value.index()), seen, found);
    }
    return;
  }
  Op const* const loop = value.owner_block() == nullptr ? nullptr : value.owner_block()->parent_op();
  if (loop == nullptr || !is_loop(*loop)) return;
  if (int const carry = Loop(*loop).carry_of(value); carry >= 0) collect_carried(Loop(*loop), carry, seen, found);
}

/// Waits and commits in program order after one op.
class Search {
 public:
  explicit Search(Op const& op) : group_(completion_of(op)) {
    if (group_ == Completion::mbarrier) barriers_ = buffers_of(*mbarrier_of(op));
    for (Op const* at = op.parent_op(); at != nullptr; at = at->parent_op())
      if (at->is<ElectOp>()) elected_ = at->as<ElectOp>().warp;
  }

  /// Looks at the ops after `op` in its block, then after the op around it.
  Op const* after(Op const& op) {
    for (Op const* at = &op; at != nullptr; at = at->parent_op()) {
      bool passed = false;
      for (Op const& other : *at->parent()) {
        if (passed)
          if (Op const* const found = look(other)) return found;
        passed = passed || &other == at;
      }
      // Another partition may be the one that waits; with the end of all partitions that is done.
      Op* const around = at->parent_op();
      if (group_ == Completion::mbarrier && around != nullptr && around->is<WarpSpecializeOp>() &&
          waits_inside(*around))
        return around;
    }
    return nullptr;
  }

 private:
  Op const* look(Op const& op) {
    if (op.is<ElectOp>()) {  // the same lane, if the same warps elect one
      if (elected_ != op.as<ElectOp>().warp && group_ == Completion::bulk) return nullptr;
      for (Op const& inside : op.block())
        if (Op const* const found = look(inside)) return found;
      return nullptr;
    }
    if (group_ == Completion::mbarrier) return op.is<MbarrierWaitOp>() && meets(op) ? &op : nullptr;
    if (commits(op, group_)) ++committed_;
    if (group_ == Completion::cp_async && op.is<CpAsyncArriveOp>()) {
      group_ = Completion::mbarrier;
      barriers_ = buffers_of(*mbarrier_of(op));
      return nullptr;
    }
    std::int64_t const open = leaves_open(op, group_);
    return open >= 0 && committed_ > open ? &op : nullptr;
  }

  bool waits_inside(Op& op) const {
    bool found = false;
    for (int i = 0; i < op.block_count(); ++i)
      walk(op.block(i), [&](Op& inside) { found = found || (inside.is<MbarrierWaitOp>() && meets(inside)); });
    return found;
  }
  bool meets(Op const& wait) const {
    auto const waited = buffers_of(*mbarrier_of(wait));
    return std::any_of(waited.begin(), waited.end(), [&](Op const* barrier) {
      return std::find(barriers_.begin(), barriers_.end(), barrier) != barriers_.end();
    });
  }

  Completion group_;
  std::vector<Op const*> barriers_;
  std::int64_t elected_ = -2;
  std::int64_t committed_ = 0;
};

}  // namespace

std::vector<Op const*> buffers_of(Value const& value) {
  std::set<Value const*> seen;
  std::vector<Op const*> found;
  collect(value, seen, found);
  return found;
}

Completion completion_of(Op const& op) {
  for (Effect const& effect : op.info().effects)
    if (effect.completion != Completion::none && effect.completion != Completion::later) return effect.completion;
  return Completion::none;
}

Value const* mbarrier_of(Op const& op) {
  return op.info().names("mbarrier") && !at_peer(op) ? op.in("mbarrier") : nullptr;
}

std::int64_t leaves_open(Op const& op, Completion group) {
  if (group == Completion::bulk && op.is<BulkWaitOp>()) return op.as<BulkWaitOp>().pending;
  if (group == Completion::wgmma && op.is<WgmmaWaitOp>()) return op.as<WgmmaWaitOp>().pending;
  if (group == Completion::cp_async && op.is<CpAsyncWaitOp>()) return op.as<CpAsyncWaitOp>().pending;
  return -1;
}

Op const* completed_at(Op const& op) { return completion_of(op) == Completion::none ? &op : Search(op).after(op); }

}  // namespace tegula::analysis

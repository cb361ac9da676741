#include "analysis/liveness.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/shared_buffers.hpp"
#include "ir/core/families.hpp"
#include "ir/core/walk.hpp"
#include "ir/memory/accesses.hpp"
#include "ir/text/text.hpp"

namespace tegula::analysis {

using namespace ir;

Liveness::Liveness(Function const& function, Uniformity const& uniformity, Reuse reuse)
    : function_(function),
      uniformity_(uniformity),
      users_(shared_users(function)),
      ranges_(users_.size()),
      touches_(users_.size()) {
  for (std::size_t i = 0; i < users_.size(); ++i) user_of_[users_[i].op] = i;
  end_ = number(function.body(), 0) - 1;
  find_touches(function.body());
  for (std::size_t i = 0; i < users_.size(); ++i) {
    Op const* const fresh = reuse == Reuse::in_loops ? loop_of_values(i) : nullptr;
    for (Touch const& at : touches_[i]) touch(i, at, fresh);
  }
  end_barriers();
  keep_for_peers();
}

int Liveness::number(Block const& block, int next) {
  for (Op const& op : block) {
    int const first = next++;
    for (int i = 0; i < op.block_count(); ++i) next = number(op.block(i), next);
    spans_[&op] = {first, next - 1};
  }
  return next;
}

Liveness::Span Liveness::span(Block const& block) const {
  return {spans_.at(&block.front()).first, spans_.at(&block.back()).last};
}

/// Finds the loop of which each iteration begins with a store to all of a buffer and completes its accesses; null: no
/// loop does.
Op const* Liveness::loop_of_values(std::size_t user) const {
  if (users_[user].kind != BufferKind::explicit_buffer || touches_[user].empty()) return nullptr;
  auto const place = [&](Touch const& touch) { return spans_.at(touch.from).first; };
  auto const first = std::min_element(touches_[user].begin(), touches_[user].end(),
                                      [&](Touch const& a, Touch const& b) { return place(a) < place(b); });
  Op const& store = *first->from;
  Op const* const loop = store.parent_op();
  bool const whole = store.is<BufferStoreOp>() && store.in<BufferStoreOp>("destination") == users_[user].op->result() &&
                     loop != nullptr && is_loop(*loop);
  if (!whole) return nullptr;
  int const end = spans_.at(loop).last;
  auto const completes = [&](Touch const& touch) {
    return touch.to != nullptr && place(touch) <= end && spans_.at(touch.to).first >= place(touch) &&
           spans_.at(touch.to).last <= end;
  };
  return std::all_of(touches_[user].begin(), touches_[user].end(), completes) ? loop : nullptr;
}

/// `fresh`: a loop through which the memory does not live, nor through those around it.
void Liveness::lift(LiveRange& range, Op const& op, bool through_loops, Op const* fresh) const {
  auto const cover = [&](Span const& span) {
    range.first = std::min(range.first, span.first);
    range.last = std::max(range.last, span.last);
  };
  Op const* inside = &op;
  for (Op const* around = op.parent_op(); around != nullptr; inside = around, around = around->parent_op()) {
    bool const loop = is_loop(*around);
    through_loops = through_loops && around != fresh;
    if ((loop && through_loops) || around->is<ElectOp>() || uniformity_.divergent_control(*around))
      cover(spans_.at(around));
    if (!around->is<WarpSpecializeOp>()) continue;
    int partition = 0;
    while (&around->block(partition) != inside->parent()) ++partition;
    auto& touched = range.partitions[around];
    touched.insert(partition);
    if (around->as<WarpSpecializeOp>().replicas[partition] > 1) cover(span(*inside->parent()));
    if (touched.size() > 1) cover(spans_.at(around));
  }
}

void Liveness::touch(std::size_t user, Touch const& at, Op const* fresh) {
  LiveRange& range = ranges_[user];
  bool const begins = range.last < range.first;
  int const first = spans_.at(at.from).first, last = at.to == nullptr ? end_ : spans_.at(at.to).last;
  range.first = begins ? first : std::min(range.first, first);
  range.last = begins ? last : std::max(range.last, last);
  bool const whole_access = users_[user].kind != BufferKind::explicit_buffer;  // each op begins afresh
  lift(range, *at.from, !whole_access, fresh);
  if (at.to != nullptr && at.to != at.from) lift(range, *at.to, !whole_access, fresh);
}

void Liveness::find_touches(Block const& block) {
  for (Op const& op : block) {
    if (auto const own = user_of_.find(&op); own != user_of_.end() && !op.is<BufferAllocOp>()) {
      touches_[own->second].push_back({&op, &op});
    } else if (!op.is<BufferAllocOp>() && !op.is<ViewOp>() && !op.is<TransViewOp>()) {
      Op const* const over = completed_at(op);
      for (Value const* operand : op.operands()) {
        if (!operand->type().is_shared() && !operand->type().is_mbarrier()) continue;
        for (Op const* alloc : buffers_of(*operand))
          if (auto const found = user_of_.find(alloc); found != user_of_.end())
            touches_[found->second].push_back({&op, operand->type().is_mbarrier() ? &op : over});
      }
    }
    for (int i = 0; i < op.block_count(); ++i) find_touches(op.block(i));
  }
}

/// mbarriers that nothing invalidates live on, and copies count on them until somebody has waited.
void Liveness::end_barriers() {
  std::set<Op const*> ended;
  walk_pre_order(function_.body(), [&](Op& op) {
    if (op.is<MbarrierInvalOp>())
      for (Op const* alloc : buffers_of(*op.in<MbarrierInvalOp>("mbarrier"))) ended.insert(alloc);
    return Walk::advance;
  });
  for (std::size_t i = 0; i < users_.size(); ++i) {
    bool const barrier = users_[i].kind == BufferKind::explicit_buffer && users_[i].op->result()->type().is_mbarrier();
    if (barrier && ended.count(users_[i].op) == 0 && ranges_[i].first <= ranges_[i].last) ranges_[i].last = end_;
  }
}

/// Keeps buffers that another CTA writes: it writes when it gets there.
void Liveness::keep_for_peers() {
  walk_pre_order(function_.body(), [&](Op& op) {
    if (at_peer(op) && op.info().effects.writes(Space::shared))
      for (Op const* alloc : buffers_of(*view_of(op)))
        if (auto const found = user_of_.find(alloc); found != user_of_.end())
          ranges_[found->second].first = 0, ranges_[found->second].last = end_;
    return Walk::advance;
  });
}

bool Liveness::together(std::size_t a, std::size_t b) const {
  LiveRange const &x = ranges_[a], &y = ranges_[b];
  if (x.last < x.first || y.last < y.first) return false;
  if (x.first <= y.last && y.first <= x.last) return true;
  for (auto const& [op, mine] : x.partitions)
    if (auto const theirs = y.partitions.find(op); theirs != y.partitions.end())
      for (int const p : mine)
        for (int const q : theirs->second)
          if (p != q) return true;
  return false;
}

std::int64_t Liveness::max_live_bytes() const {
  std::vector<std::int64_t> live(static_cast<std::size_t>(end_) + 1, 0);
  for (std::size_t i = 0; i < users_.size(); ++i)
    for (int at = ranges_[i].first; at <= ranges_[i].last; ++at) live[static_cast<std::size_t>(at)] += users_[i].bytes;
  // Beside a position of one partition runs the costliest position of each other one.
  std::vector<std::int64_t> total = live;
  for (Op const& op : function_.body()) {
    if (!op.is<WarpSpecializeOp>()) continue;
    std::vector<std::int64_t> peaks;
    for (int p = 0; p < op.block_count(); ++p) {
      Span const block = span(op.block(p));
      std::int64_t peak = 0;
      for (int at = block.first; at <= block.last; ++at) {
        std::int64_t inside = 0;
        for (std::size_t i = 0; i < users_.size(); ++i)
          if (ranges_[i].first >= block.first && ranges_[i].last <= block.last && ranges_[i].first <= at &&
              at <= ranges_[i].last)
            inside += users_[i].bytes;
        peak = std::max(peak, inside);
      }
      peaks.push_back(peak);
    }
    for (int p = 0; p < op.block_count(); ++p)
      for (int at = span(op.block(p)).first; at <= span(op.block(p)).last; ++at)
        for (int q = 0; q < op.block_count(); ++q)
          if (q != p) total[static_cast<std::size_t>(at)] += peaks[static_cast<std::size_t>(q)];
  }
  return total.empty() ? 0 : *std::max_element(total.begin(), total.end());
}

std::string Liveness::str() const {
  auto const names = value_names(function_);
  std::string text;
  for (std::size_t i = 0; i < users_.size(); ++i) {
    SharedUser const& user = users_[i];
    text += std::string(ir::name(user.kind)) + " ";
    switch (user.kind) {
      case BufferKind::explicit_buffer:
        text += names.at(user.op->result());
        break;
      case BufferKind::scratch:
        text += "of " + names.at(user.op->result());
        break;
      case BufferKind::virtual_buffer:
        text += to_string(user);
        break;
    }
    text += fmt::format(": {} bytes", user.bytes);
    if (user.decided()) text += fmt::format(" at {}", user.offset);
    LiveRange const& range = ranges_[i];
    text += range.last < range.first ? ", never live" : fmt::format(", live {}..{}", range.first, range.last);
    text += "\n";
  }
  return text;
}

}  // namespace tegula::analysis

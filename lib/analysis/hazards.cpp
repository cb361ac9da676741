#include "analysis/hazards.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "ir/core/families.hpp"
#include "ir/core/other_operand.hpp"
#include "ir/core/walk.hpp"
#include "ir/memory/accesses.hpp"
#include "target/block_rules.hpp"
#include "tegula/target/target_info.hpp"

namespace tegula::analysis {

using namespace ir;

namespace {

constexpr int oldest = 8;  // a wait leaves at most 7 groups open, so what is that old is over at each

bool orders(Op const& op) {
  if (op.is<BarrierOp>()) return op.as<BarrierOp>().purpose == Purpose::order;
  return op.is<WarpBarrierOp>() && op.as<WarpBarrierOp>().purpose == Purpose::order;
}

/// Tells whether each warpgroup meets at a barrier of its own: its name is a number plus that of the warpgroup.
bool barrier_of_warpgroup(Op const& op) {
  if (op.as<BarrierOp>().threads != warp_lanes * target::warpgroup_warps || op.operand_count() == 0) return false;
  return constant_beside_warpgroup(*op.in<BarrierOp>("id")).has_value();
}

/// Tells whether a wait for one of these mbarriers, by an elected lane or by the threads that fill, shows that an
/// access released there is over. Among several mbarriers, the awaited one may belong to an earlier use than the
/// release. Then the wait covers only the buffers that are filled after it.
bool speaks_of(Op const& wait, Op const& mbarriers, Access const& access) {
  if (mbarriers.result()->type().elements() == 1) return true;
  bool filled = false;
  walk_pre_order(*wait.parent(), [&](Op const& op) {
    Completion const completion = completion_of(op);
    if (completion == Completion::mbarrier || completion == Completion::cp_async)
      for (Op const* buffer : buffers_of(*view_of(op))) filled = filled || buffer->result() == access.slice.root;
    return Walk::advance;
  });
  return filled;
}

/// Tells the same of a wait by all threads: elsewhere than in a fill, it is for the release before it.
bool covers(Op const& wait, Op const& mbarriers, Access const& access) {
  Op const* const around = wait.parent_op();
  bool const fills = around != nullptr && around->is<FillOp>();
  return !fills || speaks_of(wait, mbarriers, access);
}

}  // namespace

Hazards::Hazards(Function const& function, Uniformity const& uniformity, Uniformity const& replica_uniformity)
    : function_(function),
      uniformity_(uniformity),
      replica_uniformity_(replica_uniformity),
      warps_(warps_of(function)),
      accesses_(function, warps_, &uniformity) {}

void Hazards::start() {
  found_.reset();
  unfenced_.reset();
  loop_states_.clear();
  context_ = {warps_, nullptr, 1};
}

std::optional<Hazard> Hazards::first() & {
  start();
  State state;
  block(function_.body(), state);
  return found_;
}

void Hazards::close_all(Close const& close) {
  start();
  close_ = &close;
  State state;
  block(function_.body(), state);
  close_ = nullptr;
}

std::optional<MissingFence> Hazards::first_without_fence() & {
  start();
  proxies_ = true;
  State state;
  block(function_.body(), state);
  proxies_ = false;
  return unfenced_;
}

// ---- states

bool Hazards::Pending::merge(Pending const& other) {
  bool grew = false;
  auto const becomes = [&](auto& value, auto const& joined) { grew = std::exchange(value, joined) != joined || grew; };
  auto const common = [&](std::set<Op const*>& places, std::set<Op const*> const& others) {
    grew = std::erase_if(places, [&](Op const* at) { return others.count(at) == 0; }) != 0 || grew;
  };
  auto const either = [&](std::set<Op const*>& places, std::set<Op const*> const& others) {
    std::size_t const before = places.size();
    places.insert(others.begin(), others.end());
    grew = places.size() != before || grew;
  };
  becomes(min_age, std::min(min_age, other.min_age));
  becomes(max_age, std::max(max_age, other.max_age));
  if (passed != other.passed) becomes(passed, nullptr);
  common(released, other.released);
  becomes(fenced, fenced && other.fenced);
  becomes(fence_known, std::min(fence_known, other.fence_known));
  common(fence_released, other.fence_released);
  if (fence_acquired != other.fence_acquired) becomes(fence_acquired, Access::not_elected);
  either(met_warp, other.met_warp);
  either(met_warpgroup, other.met_warpgroup);
  either(met_group, other.met_group);
  for (auto const& [mbarriers, places] : other.arrived) either(arrived[mbarriers], places);
  either(acquired_from, other.acquired_from);
  return grew;
}

bool Hazards::add(State& state, Pending const& pending) {
  auto const same = std::find_if(state.begin(), state.end(),
                                 [&](Pending const& other) { return other.identity() == pending.identity(); });
  if (same != state.end()) return same->merge(pending);
  state.push_back(pending);
  return true;
}

bool Hazards::join(State& into, State const& other) {
  std::map<Pending::Identity, std::size_t> places;
  for (std::size_t i = 0; i < into.size(); ++i) places.emplace(into[i].identity(), i);
  bool grew = false;
  for (Pending const& pending : other) {
    auto const [at, added] = places.emplace(pending.identity(), into.size());
    if (added) into.push_back(pending);
    grew = added || into[at->second].merge(pending) || grew;
  }
  return grew;
}

Hazards::State Hazards::joined(State const& a, State const& b) {
  State result = a;
  join(result, b);
  return result;
}

void Hazards::commit(Op const& op, State& state) {
  if (op.is<BulkCommitOp>()) return age(Completion::bulk, state, elected_around(op));
  age(op.is<WgmmaCommitOp>() ? Completion::wgmma : Completion::cp_async, state, 0);
}

void Hazards::age(Completion group, State& state, std::int64_t elected) {
  for (Pending& pending : state) {
    if (!pending.open || pending.access->completion != group) continue;
    if (group == Completion::bulk && pending.access->elected != elected) continue;
    pending.min_age = std::min(pending.min_age + 1, oldest);
    pending.max_age = std::min(pending.max_age + 1, oldest);
  }
}

// ---- places

/// Tells whether no barrier of that level can stand inside.
bool Hazards::sealed(Op const& region, Level level) const {
  if (region.is<ElectOp>()) return true;
  if (level == Level::replicas) return replica_uniformity_.divergent_control(region);
  return level == Level::group && uniformity_.divergent_control(region);
}

/// Finds the latest place to meet. It stands before regions in which threads cannot meet, and before loops that the
/// earlier access is not in, or did not end in. Null: it would have to come before that access.
Op const* Hazards::meeting_point(Op const& at, Pending const& earlier, Level level) const {
  bool const waited = earlier.access->waited_by == nullptr && earlier.ended != nullptr;
  Op const* const source = waited                                 ? earlier.ended
                           : earlier.access->waited_by != nullptr ? earlier.access->waited_by
                                                                  : earlier.access->op;
  Op const* const turn = waited ? earlier.ended_turn : earlier.turn;
  auto const holds_earlier = [&](Op const& region) {  // in the current iteration
    return is_inside(*source, region) && (turn == nullptr || turn == &region || !is_inside(region, *turn));
  };
  Op const* place = &at;
  for (Op const* around = at.parent_op(); around != nullptr; around = around->parent_op()) {
    if (around->is<WarpSpecializeOp>() && !earlier.outside) break;
    bool const must = sealed(*around, level) || around->is<WarpSpecializeOp>();
    bool const holds = holds_earlier(*around);
    if (must && holds) return nullptr;
    bool const loop = is_loop(*around);
    if (must || (loop && !holds)) place = around;
  }
  return place;
}

void Hazards::report(Pending const& earlier, Access const& later, Op const& at, Level level) {
  Hazard hazard{earlier.access, &later,
                level,          meeting_point(at, earlier, level),
                earlier.turn,   followed_.empty() ? nullptr : followed_.front()};
  if (hazard.before == nullptr) return;  // left to the protocol
  if (!found_ || (found_->before == hazard.before && found_->level < level)) found_ = hazard;
}

// ---- accesses

void Hazards::access(Access const& later, Op const& at, State& state) {
  if (proxies_) return access_by_proxy(later, at, state);
  for (Pending const& pending : state) {
    if (pending.access != nullptr)
      access_after(pending, later, at);
    else if (pending.known < Level::group)
      expose(later);
  }
}

void Hazards::expose(Access const& access) {
  if (exposed_ != nullptr && std::find(exposed_->begin(), exposed_->end(), &access) == exposed_->end())
    exposed_->push_back(&access);
}

void Hazards::access_after(Pending const& pending, Access const& later, Op const& at) {
  if (pending.open) return;
  Access const& earlier = *pending.access;
  if (pending.acquired != Access::not_elected && pending.acquired == later.elected) return;
  if (pending.outside) {
    if (pending.known < Level::group && need_order(earlier, later) && accesses_.touch(earlier, later))
      report(pending, later, at, Level::group);
    return;
  }
  Level const level = accesses_.between(earlier, later, pending.when(), context_.warps);
  if (level > pending.known) report(pending, later, at, level);
  if (context_.replicas > 1 && pending.known < Level::replicas &&
      accesses_.between_replicas(earlier, later, *context_.partition) != Level::none)
    report(pending, later, at, Level::replicas);
}

void Hazards::meet(Level level, Op const& at, State& state) {
  for (Pending& pending : state) {
    if (!concerned(pending)) continue;
    pending.known = std::max(pending.known, level);
    if (pending.fenced) pending.fence_known = std::max(pending.fence_known, level);
    if (!proxies_) continue;
    pending.met_warp = {&at};
    if (level >= Level::warpgroup) pending.met_warpgroup = {&at};
    if (level >= Level::group) pending.met_group = {&at};
  }
  forget_known(state);
}

void Hazards::forget_known(State& state) const {
  Level const enough = context_.replicas > 1 ? Level::replicas : Level::group;
  std::erase_if(state, [&](Pending const& pending) {
    return concerned(pending) && (proxies_ ? pending.fence_known : pending.known) >= enough;
  });
}

void Hazards::cluster_arrive(Op const& op, State& state) {
  bool const relaxed = op.as<ClusterArriveOp>().relaxed;
  for (Pending& pending : state) {
    bool const published = pending.access != nullptr && pending.access->op->is<MbarrierInitOp>();
    if (!concerned(pending) || (relaxed && !published)) continue;
    pending.released.insert(nullptr);
    if (proxies_) pending.arrived[nullptr] = {&op};
    if (pending.fenced) pending.fence_released.insert(nullptr);
  }
}

void Hazards::cluster_wait(State& state) {
  for (Pending& pending : state) {
    if (!concerned(pending) || pending.released.erase(nullptr) == 0) continue;
    pending.known = Level::replicas;
    pending.met_warp = pending.met_warpgroup = pending.met_group = pending.arrived[nullptr];
    if (pending.fence_released.erase(nullptr) != 0) pending.fence_known = Level::replicas;
  }
  forget_known(state);
}

void Hazards::barrier(Op const& op, State& state) {
  if (!orders(op)) return;
  if (op.is<WarpBarrierOp>()) return meet(context_.warps == 1 ? Level::group : Level::warp, op, state);
  std::int64_t const threads = op.as<BarrierOp>().threads;
  if (op.operand_count() == 0) return meet(Level::replicas, op, state);
  if (threads < warp_lanes * context_.warps) {
    if (barrier_of_warpgroup(op)) meet(Level::warpgroup, op, state);
    return;
  }
  meet(threads >= warp_lanes * context_.warps * context_.replicas ? Level::replicas : Level::group, op, state);
}

/// Marks the accesses that a wait completes as over.
void Hazards::wait(Op const& op, State& state) {
  std::int64_t const elected = elected_around(op);
  bool const sources_only = op.is<BulkWaitOp>() && op.as<BulkWaitOp>().read;
  auto const waits_for = [&](Pending const& pending) {  // once it is so old
    if (!pending.open) return false;
    Access const& access = *pending.access;
    if (leaves_open(op, access.completion) < 0) return false;
    if (access.completion == Completion::bulk && access.elected != elected) return false;
    return !(sources_only && access.space == Space::global && access.write);
  };
  State over;
  for (Pending const& pending : state) {
    if (!waits_for(pending)) continue;
    Access const& access = *pending.access;
    if (pending.max_age <= leaves_open(op, access.completion)) continue;
    Pending done = pending;
    done.open = false;
    done.ended = &op;
    done.ended_turn = nullptr;
    done.known =
        access.completion == Completion::wgmma ? (context_.warps == 1 ? Level::group : Level::warp) : Level::none;
    over.push_back(done);
  }
  std::erase_if(state, [&](Pending const& pending) {
    return waits_for(pending) && pending.min_age > leaves_open(op, pending.access->completion);
  });
  join(state, over);
}

void Hazards::arrive(Op const& op, State& state) {
  std::int64_t const elected = elected_around(op);
  for (Op const* barrier : buffers_of(*mbarrier_of(op)))
    for (Pending& pending : state) {
      if (pending.access == nullptr || pending.open) continue;
      if (proxies_ && !concerned(pending)) continue;  // its threads fence outside of this partition
      bool const own = elected == Access::not_elected || pending.access->elected == elected;
      bool const of_warp = elected == -1 && pending.known >= Level::warp;
      if (own || of_warp) release(pending, *barrier, op, own);
    }
}

void Hazards::release(Pending& pending, Op const& barrier, Op const& arrival, bool own) {
  // A wait may be for the first arrival alone: a later one may be at the mbarrier of another slot.
  bool const released_before = !pending.released.insert(&barrier).second;
  if (released_before && barrier.result()->type().elements() > 1) return;
  bool const fenced = own ? pending.fenced : pending.fence_known >= Level::warp;
  if (proxies_) pending.arrived[&barrier] = own ? std::set<Op const*>{&arrival} : pending.met_warp;
  if (fenced) {
    pending.fence_released.insert(&barrier);
    return;
  }
  pending.fence_released.erase(&barrier);
  Access const* const later = proxies_ && !pending.outside ? taken_over(*pending.access, barrier) : nullptr;
  if (later == nullptr || unfenced_) return;
  std::set<Op const*> const& places = pending.arrived[&barrier];
  unfenced_ = {pending.access, later, {places.begin(), places.end()}};
}

bool Hazards::over_at_wait(Op const& wait, Pending const& pending, Op const& mbarriers) {
  if (proxies_ || pending.access == nullptr || pending.open) return false;
  Access const& access = *pending.access;
  if (pending.released.count(&mbarriers) != 0 && context_.replicas == 1 && covers(wait, mbarriers, access)) return true;
  auto const& copies = accesses_.counted_on(mbarriers);
  bool const counted = access.waited_by != nullptr && std::any_of(copies.begin(), copies.end(), [&](auto const* copy) {
                         return copy->op == access.op;
                       });
  // A slot is filled anew only once the copy out of it is over, by the lane that waited for that.
  bool const copied_out = access.completion == Completion::bulk && !access.write;
  return counted || (copied_out && std::any_of(copies.begin(), copies.end(), [&](auto const* copy) {
                       return copy->slice.root == access.slice.root;
                     }));
}

void Hazards::mbarrier_wait(Op const& op, State& state) {
  std::int64_t const elected = elected_around(op);
  bool const all = uniformity_.is_uniform(*op.parent());
  for (Op const* barrier : buffers_of(*mbarrier_of(op))) {
    if (all) std::erase_if(state, [&](Pending const& pending) { return over_at_wait(op, pending, *barrier); });
    for (Pending& pending : state)
      if (pending.released.count(barrier) != 0) {
        if (all && !covers(op, *barrier, *pending.access)) continue;
        bool const fenced = pending.fence_released.count(barrier) != 0;
        if (all) {
          pending.known = std::max(pending.known, Level::group);
          pending.met_warp = pending.met_warpgroup = pending.met_group = pending.arrived[barrier];
          if (fenced) pending.fence_known = std::max(pending.fence_known, Level::group);
        } else if (elected != Access::not_elected && speaks_of(op, *barrier, *pending.access)) {
          pending.acquired = elected;
          pending.acquired_from = pending.arrived[barrier];
          if (fenced) pending.fence_acquired = elected;
        }
      }
    if (all || proxies_) continue;
    for (Access const* copy : accesses_.counted_on(*barrier)) {
      Pending pending;
      pending.access = &accesses_.waited(*copy, op);
      add(state, pending);
    }
  }
}

}  // namespace tegula::analysis

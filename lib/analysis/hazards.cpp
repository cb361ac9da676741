#include "analysis/hazards.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "analysis/call_graph.hpp"
#include "analysis/conditions.hpp"
#include "ir/builder.hpp"
#include "ir/shared_frame.hpp"
#include "ir/trip_count.hpp"
#include "ir/walk.hpp"
#include "ir/loop.hpp"

namespace tegula::analysis {

using namespace ir;

namespace {

constexpr int oldest = 8;  // a wait leaves at most 7 groups open, so what is that old is over at each

bool orders(Op const& op) {
  if (op.is<BarrierOp>()) return op.as<BarrierOp>().purpose == Purpose::order;
  return op.is<WarpBarrierOp>() && op.as<WarpBarrierOp>().purpose == Purpose::order;
}

/// Tells whether an op is an arrival here that releases its threads' earlier accesses; at another CTA's mbarrier nobody
/// here waits for it.
bool releases(Op const& op) {
  if (op.is<MbarrierExpectOp>()) return op.as<MbarrierExpectOp>().arrive;
  return op.operand_count() == 1;
}

/// Trips of a for that are known: 0, 1, 2 for more than one; -1: not known.
int trips(Op const& loop) {
  if (loop.is<RepeatOp>()) return -2;  // one at least
  auto const known = trip_count(loop);
  return known ? static_cast<int>(std::min<std::int64_t>(*known, 2)) : -1;
}

/// Names the loop and the block of a branch that is taken only in the loop's first iteration: there is no earlier one.
struct FirstTurn {
  Op const* loop = nullptr;
  int block = 0;
};
FirstTurn first_turn(Op const& branch) {
  Op const* const test = branch.in<IfOp>("condition")->defined_by<CompareOp>();
  if (test == nullptr) return {};
  std::optional<Loop> const loop = Loop::counted_by(*test->lhs());
  if (!loop) return {};
  auto const low = constant_int(*loop->lower()), with = constant_int(*test->rhs());
  if (test->rhs() != loop->lower() && !(low && low == with)) return {};
  Predicate const predicate = test->as<CompareOp>().predicate;
  if (predicate == Predicate::eq || predicate == Predicate::le) return {&loop->op(), 0};
  if (predicate == Predicate::ne || predicate == Predicate::gt) return {&loop->op(), 1};
  return {};
}

/// Tells whether an elected lane's wait for one of these mbarriers shows that an access released there is over. Among
/// several mbarriers, the awaited one may belong to an earlier use than the release. Then the wait covers only the
/// buffers that the lane fills behind it.
bool speaks_of(Op const& wait, Op const& mbarriers, Access const& access) {
  if (mbarriers.result()->type().elements() == 1) return true;
  bool filled = false;
  for (Op const& op : *wait.parent()) {
    if (completion_of(op) != Completion::mbarrier) continue;
    for (Op const* buffer : buffers_of(*op.in("destination"))) filled = filled || buffer->result() == access.slice.root;
  }
  return filled;
}

}  // namespace

int warps_of(Function const& function) {
  if (function.warps > 0 || function.parent() == nullptr) return std::max(function.warps, 1);
  int most = 1;
  for (auto const& other : function.parent()->functions()) most = std::max(most, other->warps);
  return most;
}

bool runs_in_partitions(Function const& function) {
  if (function.is_kernel() || function.parent() == nullptr) return false;
  bool found = false;
  for (auto const& caller : function.parent()->functions())
    walk_pre_order(caller->body(), [&](Op& op) {
      if (op.is<CallOp>() && op.as<CallOp>().callee.view() == function.name()) {
        for (Op const* at = op.parent_op(); at != nullptr; at = at->parent_op())
          found = found || at->is<WarpSpecializeOp>();
        found = found || runs_in_partitions(*caller);
      }
      return Walk::advance;
    });
  return found;
}

Hazards::Hazards(Function const& function, Uniformity const& uniformity, Uniformity const& replica_uniformity)
    : function_(function),
      uniformity_(uniformity),
      replica_uniformity_(replica_uniformity),
      warps_(warps_of(function)),
      accesses_(function, warps_, &uniformity) {}

void Hazards::start() {
  found_.reset();
  unfenced_.reset();
  turns_.clear();
  context_ = {warps_, nullptr, 1};
}

std::optional<Hazard> Hazards::first() {
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

std::optional<MissingFence> Hazards::first_without_fence() {
  start();
  proxies_ = true;
  State state;
  block(function_.body(), state);
  proxies_ = false;
  return unfenced_;
}

CallSummary Hazards::summary() {
  CallSummary result;
  start();
  exposed_ = &result.first;
  State state(1);
  block(function_.body(), state);
  exposed_ = nullptr;
  result.meets = true;
  for (Pending const& pending : state) {
    if (pending.access == nullptr)
      result.meets = false;
    else if (!pending.open && pending.known < Level::group)
      result.last.push_back(pending.access);
  }
  return result;
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
  becomes(just_before, just_before && other.just_before);
  becomes(known, std::min(known, other.known));
  becomes(min_age, std::min(min_age, other.min_age));
  becomes(max_age, std::max(max_age, other.max_age));
  if (passed != other.passed) becomes(passed, nullptr);
  common(released, other.released);
  if (acquired != other.acquired) becomes(acquired, Access::not_elected);
  becomes(fenced, fenced && other.fenced);
  becomes(fence_known, std::min(fence_known, other.fence_known));
  common(fence_released, other.fence_released);
  if (fence_acquired != other.fence_acquired) becomes(fence_acquired, Access::not_elected);
  either(met_warp, other.met_warp);
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
    bool const loop = around->is<ForOp>() || around->is<RepeatOp>();
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
    if (pending.access == nullptr) {
      if (exposed_ != nullptr && pending.known < Level::group &&
          std::find(exposed_->begin(), exposed_->end(), &later) == exposed_->end())
        exposed_->push_back(&later);
      continue;
    }
    if (pending.open) continue;
    Access const& earlier = *pending.access;
    if (pending.acquired != Access::not_elected && pending.acquired == later.elected) continue;
    if (pending.outside) {
      bool const conflicts = (earlier.write || later.write) && !(earlier.atomic && later.atomic);
      if (conflicts && pending.known < Level::group && accesses_.touch(earlier, later))
        report(pending, later, at, Level::group);
      continue;
    }
    Level const level = accesses_.between(earlier, later, pending.when(), context_.warps);
    if (level > pending.known) report(pending, later, at, level);
    if (context_.replicas > 1 && pending.known < Level::replicas &&
        accesses_.between_replicas(earlier, later, *context_.partition) != Level::none)
      report(pending, later, at, Level::replicas);
  }
}

void Hazards::meet(Level level, Op const& at, State& state) {
  for (Pending& pending : state) {
    if (!concerned(pending)) continue;
    pending.known = std::max(pending.known, level);
    if (pending.fenced) pending.fence_known = std::max(pending.fence_known, level);
    if (!proxies_) continue;
    pending.met_warp = {&at};
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
    pending.met_warp = pending.met_group = pending.arrived[nullptr];
    if (pending.fence_released.erase(nullptr) != 0) pending.fence_known = Level::replicas;
  }
  forget_known(state);
}

void Hazards::barrier(Op const& op, State& state) {
  if (!orders(op)) return;
  if (op.is<WarpBarrierOp>()) return meet(context_.warps == 1 ? Level::group : Level::warp, op, state);
  std::int64_t const threads = op.as<BarrierOp>().threads;
  if (op.operand_count() == 0) return meet(Level::replicas, op, state);
  if (threads < 32 * context_.warps) return;
  meet(threads >= 32 * context_.warps * context_.replicas ? Level::replicas : Level::group, op, state);
}

/// Marks the accesses that a wait completes as over.
void Hazards::wait(Op const& op, State& state) {
  std::int64_t const elected = elected_around(op);
  bool const sources_only = op.is<BulkWaitOp>() && op.as<BulkWaitOp>().read;
  State over;
  for (Pending const& pending : state) {
    if (!pending.open) continue;
    Access const& access = *pending.access;
    std::int64_t const open = leaves_open(op, access.completion);
    if (open < 0 || (access.completion == Completion::bulk && access.elected != elected)) continue;
    if (sources_only && access.space == Space::global && access.write) continue;
    if (pending.max_age <= open) continue;
    Pending done = pending;
    done.open = false;
    done.ended = &op;
    done.ended_turn = nullptr;
    done.known =
        access.completion == Completion::wgmma ? (context_.warps == 1 ? Level::group : Level::warp) : Level::none;
    over.push_back(done);
  }
  std::erase_if(state, [&](Pending const& pending) {
    if (!pending.open) return false;
    Access const& access = *pending.access;
    std::int64_t const open = leaves_open(op, access.completion);
    if (open < 0 || (access.completion == Completion::bulk && access.elected != elected)) return false;
    if (sources_only && access.space == Space::global && access.write) return false;
    return pending.min_age > open;
  });
  join(state, over);
}

void Hazards::arrive(Op const& op, State& state) {
  std::int64_t const elected = elected_around(op);
  for (Op const* barrier : buffers_of(*mbarrier_of(op)))
    for (Pending& pending : state) {
      if (pending.access == nullptr || pending.open) continue;
      bool const own = elected == Access::not_elected || pending.access->elected == elected;
      bool const of_warp = elected == -1 && pending.known >= Level::warp;
      if (!own && !of_warp) continue;
      pending.released.insert(barrier);
      bool const fenced = own ? pending.fenced : pending.fence_known >= Level::warp;
      if (proxies_) pending.arrived[barrier] = own ? std::set<Op const*>{&op} : pending.met_warp;
      if (fenced) {
        pending.fence_released.insert(barrier);
        continue;
      }
      pending.fence_released.erase(barrier);
      Access const* const later = proxies_ && !pending.outside ? taken_over(*pending.access, *barrier) : nullptr;
      if (later == nullptr || unfenced_) continue;
      std::set<Op const*> const& places = pending.arrived[barrier];
      unfenced_ = {pending.access, later, {places.begin(), places.end()}};
    }
}

void Hazards::mbarrier_wait(Op const& op, State& state) {
  std::int64_t const elected = elected_around(op);
  bool const all = uniformity_.runs_alike(*op.parent());
  for (Op const* barrier : buffers_of(*mbarrier_of(op))) {
    std::erase_if(state, [&](Pending const& pending) {
      if (proxies_ || !all || pending.access == nullptr || pending.open) return false;
      bool const counted = pending.access->waited_by != nullptr &&
                           std::any_of(accesses_.counted_on(*barrier).begin(), accesses_.counted_on(*barrier).end(),
                                       [&](Access const* copy) { return copy->op == pending.access->op; });
      // A slot is filled anew only once the copy out of it is over, by the lane that waited for that.
      bool const refilled =
          pending.access->completion == Completion::bulk && !pending.access->write &&
          std::any_of(accesses_.counted_on(*barrier).begin(), accesses_.counted_on(*barrier).end(),
                      [&](Access const* copy) { return copy->slice.root == pending.access->slice.root; });
      return counted || refilled || (pending.released.count(barrier) != 0 && context_.replicas == 1);
    });
    for (Pending& pending : state)
      if (pending.released.count(barrier) != 0) {
        bool const fenced = pending.fence_released.count(barrier) != 0;
        if (all) {
          pending.known = std::max(pending.known, Level::group);
          pending.met_warp = pending.met_group = pending.arrived[barrier];
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

// ---- control

void Hazards::op(Op const& op, State& state) {
  for (Access const& made : accesses_.of(op)) access(made, op, state);
  if (stopped()) return;
  if (Access const* const scratch = accesses_.scratch(op, true)) {
    access(*scratch, op, state);
    if (stopped()) return;
    meet(Level::replicas, op, state);  // the exchange's own barrier
    Pending pending;
    pending.access = accesses_.scratch(op, false);
    add(state, pending);
    return;
  }
  switch (op.kind()) {
    case OpKind::BarrierOp:
    case OpKind::WarpBarrierOp:
      return barrier(op, state);
    case OpKind::ClusterArriveOp:
      return cluster_arrive(op, state);
    case OpKind::ClusterWaitOp:
      return cluster_wait(state);
    case OpKind::FenceProxyAsyncOp:
      return fence(op, state);
    case OpKind::BulkCommitOp:
      return age(Completion::bulk, state, elected_around(op));
    case OpKind::WgmmaCommitOp:
      return age(Completion::wgmma, state, 0);
    case OpKind::CpAsyncCommitOp:
      return age(Completion::cp_async, state, 0);
    case OpKind::BulkWaitOp:
    case OpKind::WgmmaWaitOp:
    case OpKind::CpAsyncWaitOp:
      return wait(op, state);
    case OpKind::MbarrierWaitOp:
      mbarrier_wait(op, state);
      break;
    case OpKind::MbarrierArriveOp:
    case OpKind::MbarrierExpectOp:
      if (releases(op)) arrive(op, state);
      break;
    case OpKind::CallOp:
      return call(op, state);
    case OpKind::ForOp:
    case OpKind::RepeatOp:
      return loop(op, state);
    case OpKind::IfOp:
      return branch(op, state);
    case OpKind::ElectOp:
      return block(op.block(), state);
    case OpKind::WarpSpecializeOp:
      return partitions(op, state);
    default:
      break;
  }
  for (Access const& made : accesses_.of(op)) {
    if (made.completion == Completion::mbarrier) continue;  // over for whoever waits
    if (proxies_ && (made.proxy == Proxy::async || made.slice.root == nullptr || made.slice.root->type().is_mbarrier()))
      continue;
    Pending pending;
    pending.access = &made;
    pending.open = made.completion != Completion::none;
    add(state, pending);
  }
}

// Closes a hazard found in the first iteration of all loops around it where the op at hand, or a region around that op,
// begins: up to there a barrier changes nothing. An op that a hazard stops has not changed the state yet; a region has.
void Hazards::block(Block const& ops, State& state) {
  for (Op const& each : ops) {
    bool const region = close_ != nullptr && each.block_count() > 0;
    State before = region ? state : State();
    op(each, state);
    while (Op const* const barrier = closed(&each)) {
      if (region) {
        op(*barrier, before);
        forget_turns(each);
        state = before;
      } else {
        op(*barrier, state);
      }
      op(each, state);
    }
    if (stopped()) return;
  }
}

Op const* Hazards::closed(Op const* before) {
  if (close_ == nullptr || !found_ || !followed_.empty() || found_->before != before) return nullptr;
  Op const* const barrier = (*close_)(*found_);
  if (barrier != nullptr) found_.reset();
  return barrier;
}

void Hazards::forget_turns(Op const& region) {
  std::erase_if(turns_, [&](auto const& each) { return is_inside(*each.first, region); });
}

void Hazards::take(Op const& control, State& state) {
  std::erase_if(state, [&](Pending const& pending) {
    return pending.passed != nullptr && implies(control, *pending.passed, accesses_.affines());
  });
}

bool Hazards::entered_with(Pending const& pending, Op const& control) {
  if (pending.access == nullptr || pending.access->waited_by != nullptr) return false;
  Op const* const turn = pending.turn;
  Block const* block = pending.access->op->parent();
  for (Op const* region = block->parent_op(); region != nullptr;
       block = region->parent(), region = block->parent_op()) {
    if (region != &control && is_inside(control, *region)) return false;
    bool const entered = region->is<ForOp>() || (region->is<IfOp>() && block == &region->block());
    if (!entered || replica_uniformity_.divergent_control(*region)) continue;
    bool const since = turn == nullptr || is_inside(*turn, *region) || (keeps(*region, *turn) && keeps(control, *turn));
    if (since && (region == &control || implies(*region, control, accesses_.affines()))) return true;
  }
  return false;
}

void Hazards::pass(Op const& control, State& state) {
  if (replica_uniformity_.divergent_control(control)) return;
  std::erase_if(state, [&](Pending const& pending) { return entered_with(pending, control); });
  for (Pending& pending : state)
    if (pending.passed == nullptr) pending.passed = &control;
}

/// Follows iterations until one more adds nothing to the state at the loop's start. This ends: `add` only adds accesses
/// of the function, which are finitely many: ops, waits and loops tell them apart. It moves each towards less known,
/// fewer releases, a wider range of ages up to the oldest, and more places.
///
/// An inner loop continues from the state of its last iteration. Its entry state only grows with the iterations of the
/// loops around it, so the result is the same. Otherwise each loop would double the iterations of its inner loops.
void Hazards::loop(Op const& loop, State& state) {
  int const known = trips(loop);
  if (known == 0) return;
  State entry = state;
  take(loop, entry);
  bool later = turns_.count(&loop) != 0;
  Turns& turns = turns_[&loop];
  for (bool grew = join(turns.start, entry) || !later; grew; later = true) {
    turns.end = turns.start;
    if (later) followed_.push_back(&loop);
    block(loop.block(), turns.end);
    if (later) followed_.pop_back();
    if (later && found_ && found_->before != &loop && is_inside(*found_->before, loop) &&
        closed(found_->before) != nullptr) {
      forget_turns(loop);
      return this->loop(loop, state);
    }
    if (stopped() || known == 1) break;
    State next = turns.end;
    for (Pending& pending : next) {
      if (pending.access != nullptr && is_inside(*pending.access->op, loop)) {
        pending.just_before = pending.turn == nullptr;
        pending.turn = &loop;
      }
      if (pending.ended != nullptr && is_inside(*pending.ended, loop)) pending.ended_turn = &loop;
      if (pending.passed != nullptr && is_inside(*pending.passed, loop)) pending.passed = nullptr;
    }
    grew = join(turns.start, next);
  }
  if (known == -1) {
    pass(loop, state);
    join(state, turns.end);
  } else {
    state = turns.end;
  }
}

void Hazards::branch(Op const& branch, State& state) {
  State other = state;
  if (FirstTurn const first = first_turn(branch); first.loop != nullptr)
    std::erase_if(first.block == 0 ? state : other, [&](Pending const& pending) { return pending.turn == first.loop; });
  take(branch, state);
  block(branch.block(0), state);
  if (stopped()) return;
  block(branch.block(1), other);
  pass(branch, other);
  join(state, other);
}

void Hazards::partitions(Op const& op, State& state) {
  auto const& attributes = op.as<WarpSpecializeOp>();
  for (Pending& pending : state) pending.outside = true;
  State result = state;
  for (int p = 0; p < op.block_count(); ++p) {
    Context const before = context_;
    context_ = {static_cast<int>(attributes.warps[p]), &op.block(p), attributes.replicas[p]};
    State inside = state;
    block(op.block(p), inside);
    context_ = before;
    if (stopped()) return;
    for (Pending pending : inside) {
      pending.outside = true;
      pending.known = Level::none;
      if (pending.access == nullptr || is_inside(*pending.access->op, op)) add(result, pending);
    }
  }
  state = std::move(result);
}

// ---- calls

CallSummary const& Hazards::summary_of(Op const& call) {
  auto const [slot, fresh] = calls_.try_emplace(&call);
  CallSummary& summary = slot->second;
  Function const* const callee =
      function_.parent() == nullptr ? nullptr : function_.parent()->find(call.as<CallOp>().callee.view());
  if (!fresh || callee == nullptr) return summary;
  Hazards inside(*callee, uniformity_, replica_uniformity_);
  CallSummary const found = inside.summary();
  std::int64_t const base = callee_offset(call).value_or(0);
  auto const taken = [&](std::vector<Access const*> const& list) {
    std::vector<Access const*> result;
    for (Access const* access : list) {
      Access here = *access;
      here.op = &call;
      here.waited_by = nullptr;
      here.completion = Completion::none;
      here.holders = Access::Holders::every;
      here.elected = elected_around(call);
      here.begin += base;
      here.end += base;
      here.slice.whole = true;
      here.slice.axes.clear();
      here.slice.axis_of.clear();
      if (here.space == Space::global) here.slice.root = call.operand(here.slice.root->index());
      result.push_back(&accesses_.keep(here));
    }
    return result;
  };
  summary.first = taken(found.first);
  summary.last = taken(found.last);
  summary.meets = found.meets;
  return summary;
}

void Hazards::call(Op const& op, State& state) {
  CallSummary const& summary = summary_of(op);
  for (Access const* made : summary.first) access(*made, op, state);
  if (stopped()) return;
  if (summary.meets) meet(Level::group, op, state);
  for (Access const* made : summary.last) {
    if (proxies_ && made->proxy == Proxy::async) continue;
    Pending pending;
    pending.access = made;
    add(state, pending);
  }
}

}  // namespace tegula::analysis

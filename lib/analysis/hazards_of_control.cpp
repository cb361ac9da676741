// Follows hazards through ops, loops, branches and partitions: the part of Hazards about control flow.
#include "analysis/hazards.hpp"

#include <algorithm>
#include <utility>

#include "analysis/conditions.hpp"
#include "ir/core/builder.hpp"
#include "ir/core/loop.hpp"
#include "ir/memory/exchange.hpp"
#include "ir/values/trip_count.hpp"
#include "tegula/support/error.hpp"

namespace tegula::analysis {

using namespace ir;

namespace {

/// Tells whether an op is an arrival here that releases its threads' earlier accesses; at another CTA's mbarrier nobody
/// here waits for it.
bool releases(Op const& op) {
  if (op.is<MbarrierExpectOp>()) return op.as<MbarrierExpectOp>().arrive;
  return op.operand_count() == 1;
}

/// Says how often a loop runs.
enum class Trips : std::uint8_t {
  never,
  once,
  at_least_once,
  unknown,
};
Trips trips(Op const& loop) {
  if (loop.is<RepeatOp>()) return Trips::at_least_once;
  auto const known = trip_count(loop);
  if (!known) return Trips::unknown;
  return *known == 0 ? Trips::never : *known == 1 ? Trips::once : Trips::at_least_once;
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

/// Names the rule by which an op orders accesses, apart from the accesses that it makes.
enum class OrderRule : std::uint8_t {
  none,  ///< orders none of the accesses that hazards are about
  barrier,
  cluster_arrive,
  cluster_wait,
  fence,
  commit,
  wait,
  mbarrier_wait,
  arrive,
  call,
  loop,
  branch,
  region,  ///< runs once, by one lane or by all threads
  partitions,
};

/// Holds a rule for each op that synchronises, holds ops or calls.
struct RuleOfOp {
  OpKind kind;
  OrderRule rule;
};
constexpr RuleOfOp order_rules[] = {
    {OpKind::BarrierOp, OrderRule::barrier},
    {OpKind::WarpBarrierOp, OrderRule::barrier},
    {OpKind::ClusterArriveOp, OrderRule::cluster_arrive},
    {OpKind::ClusterWaitOp, OrderRule::cluster_wait},
    {OpKind::FenceProxyAsyncOp, OrderRule::fence},
    {OpKind::BulkCommitOp, OrderRule::commit},
    {OpKind::WgmmaCommitOp, OrderRule::commit},
    {OpKind::CpAsyncCommitOp, OrderRule::commit},
    {OpKind::BulkWaitOp, OrderRule::wait},
    {OpKind::WgmmaWaitOp, OrderRule::wait},
    {OpKind::CpAsyncWaitOp, OrderRule::wait},
    {OpKind::MbarrierWaitOp, OrderRule::mbarrier_wait},
    {OpKind::MbarrierArriveOp, OrderRule::arrive},
    {OpKind::MbarrierExpectOp, OrderRule::arrive},
    {OpKind::CallOp, OrderRule::call},
    {OpKind::ForOp, OrderRule::loop},
    {OpKind::RepeatOp, OrderRule::loop},
    {OpKind::IfOp, OrderRule::branch},
    {OpKind::ElectOp, OrderRule::region},
    {OpKind::FillOp, OrderRule::region},
    {OpKind::WarpSpecializeOp, OrderRule::partitions},
    // Their accesses to mbarriers are accesses like others.
    {OpKind::MbarrierInitOp, OrderRule::none},
    {OpKind::MbarrierInvalOp, OrderRule::none},
    {OpKind::CpAsyncArriveOp, OrderRule::none},
    {OpKind::FenceMbarrierInitOp, OrderRule::none},
    // Orders registers, and shared memory that a fence of proxies orders.
    {OpKind::WgmmaFenceOp, OrderRule::none},
    // Does not wait; an order by it is the protocol's.
    {OpKind::BarrierArriveOp, OrderRule::none},
    // Order descriptors, whose barriers build-tensor-maps puts in itself.
    {OpKind::BuildTensorMapOp, OrderRule::none},
    {OpKind::ReleaseTensorMapsOp, OrderRule::none},
    {OpKind::AcquireTensorMapOp, OrderRule::none},
    {OpKind::FreeTensorMapOp, OrderRule::none},
    // Hints.
    {OpKind::PrefetchTensorMapOp, OrderRule::none},
    {OpKind::TmaPrefetchOp, OrderRule::none},
    {OpKind::PrefetchOp, OrderRule::none},
    // Its bytes serve others afterwards, whose accesses are ordered like others.
    {OpKind::BufferDeallocOp, OrderRule::none},
    // Order grids, not the threads of one.
    {OpKind::LaunchDependentsOp, OrderRule::none},
    {OpKind::WaitDependenciesOp, OrderRule::none},
};

/// Tells whether an op is in the table, or needs no rule: it neither synchronises nor holds ops.
template <class OpStruct>
constexpr bool has_order_rule() {
  if (OpStruct::family != Family::synchronisation && (OpStruct::traits & has_regions) == 0) return true;
  for (RuleOfOp const& entry : order_rules)
    if (entry.kind == kind_of<OpStruct>) return true;
  return false;
}

#define TEGULA_OP(name) \
  static_assert(has_order_rule<name>(), "order_rules: " #name " synchronises or holds ops, so it must have a rule");
#include "tegula/ir/ops.def"
#undef TEGULA_OP

OrderRule order_rule(OpKind kind) {
  for (RuleOfOp const& entry : order_rules)
    if (entry.kind == kind) return entry.rule;
  return OrderRule::none;
}

}  // namespace

void Hazards::op(Op const& op, State& state) {
  for (Access const& current : accesses_.of(op)) access(current, op, state);
  if (stopped()) return;
  if (Access const* const scratch = accesses_.scratch(op, true)) return exchange(op, *scratch, state);
  if (order(op, state)) leave_pending(op, state);
}

void Hazards::exchange(Op const& op, Access const& scratch, State& state) {
  access(scratch, op, state);
  if (stopped()) return;
  std::vector<Op const*> const sharing = sharing_barrier(op);
  if (sharing.back() != &op) {  // leaves its barrier, and reads after that
    Pending written;
    written.access = &scratch;
    add(state, written);
    return;
  }
  meet(Level::replicas, op, state);  // the exchange's own barrier
  for (Op const* each : sharing) {
    Access const* const read = accesses_.scratch(*each, false);
    if (read == nullptr) continue;
    Pending pending;
    pending.access = read;
    add(state, pending);
  }
}

bool Hazards::order(Op const& op, State& state) {
  switch (order_rule(op.kind())) {
    case OrderRule::none:
      return true;
    case OrderRule::barrier:
      barrier(op, state);
      return false;
    case OrderRule::cluster_arrive:
      cluster_arrive(op, state);
      return false;
    case OrderRule::cluster_wait:
      cluster_wait(state);
      return false;
    case OrderRule::fence:
      fence(op, state);
      return false;
    case OrderRule::commit:
      commit(op, state);
      return false;
    case OrderRule::wait:
      wait(op, state);
      return false;
    case OrderRule::mbarrier_wait:
      mbarrier_wait(op, state);
      return true;
    case OrderRule::arrive:
      if (releases(op)) arrive(op, state);
      return true;
    case OrderRule::call:
      call(op, state);
      return false;
    case OrderRule::loop:
      loop(op, state);
      return false;
    case OrderRule::branch:
      branch(op, state);
      return false;
    case OrderRule::region:
      block(op.block(), state);
      return false;
    case OrderRule::partitions:
      partitions(op, state);
      return false;
  }
  return true;
}

void Hazards::leave_pending(Op const& op, State& state) {
  for (Access const& current : accesses_.of(op)) {
    if (current.completion == Completion::mbarrier) continue;  // over after the wait
    if (proxies_ &&
        (current.proxy == Proxy::async || current.slice.root == nullptr || current.slice.root->type().is_mbarrier()))
      continue;
    Pending pending;
    pending.access = &current;
    pending.open = current.completion != Completion::none;
    add(state, pending);
  }
}

// Closes a hazard where the op at hand, or a region around that op, begins: up to there a barrier changes nothing. The
// hazard was found in the first iteration of all loops around it. An op that a hazard stops has not changed the state
// yet; a region has.
void Hazards::block(Block const& ops, State& state) {
  for (Op const& each : ops) {
    bool const region = close_ != nullptr && each.block_count() > 0;
    State before = region ? state : State();
    op(each, state);
    while (Op const* const barrier = closed(&each)) {
      if (region) {
        op(*barrier, before);
        forget_loop_states(each);
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

void Hazards::forget_loop_states(Op const& region) {
  std::erase_if(loop_states_, [&](auto const& each) { return is_inside(*each.first, region); });
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

Hazards::State Hazards::in_next_iteration(State state, Op const& loop) {
  for (Pending& pending : state) {
    if (pending.access != nullptr && is_inside(*pending.access->op, loop)) {
      pending.just_before = pending.turn == nullptr;
      pending.turn = &loop;
    }
    if (pending.ended != nullptr && is_inside(*pending.ended, loop)) pending.ended_turn = &loop;
    if (pending.passed != nullptr && is_inside(*pending.passed, loop)) pending.passed = nullptr;
  }
  return state;
}

/// Follows iterations until one more adds nothing to the state at the loop's start. This ends: `add` only adds accesses
/// of the function, which are finitely many. Ops, waits, loops and the threads that know of them tell them apart. It
/// moves each towards fewer releases, a wider range of ages up to the oldest, and more places.
///
/// An inner loop continues from the state of its last iteration. Its entry state only grows with the iterations of the
/// loops around it, so the result is the same. Otherwise each loop would double the iterations of its inner loops.
void Hazards::loop(Op const& loop, State& state) {
  Trips const known = trips(loop);
  if (known == Trips::never) return;
  State entry = state;
  take(loop, entry);
  bool later = loop_states_.count(&loop) != 0;
  LoopStates& states = loop_states_[&loop];
  for (bool grew = join(states.start, entry) || !later; grew; later = true) {
    states.end = states.start;
    if (later) followed_.push_back(&loop);
    block(loop.block(), states.end);
    if (later) followed_.pop_back();
    if (later && found_ && found_->before != &loop && is_inside(*found_->before, loop) &&
        closed(found_->before) != nullptr) {
      forget_loop_states(loop);
      return this->loop(loop, state);
    }
    if (stopped() || known == Trips::once) break;
    grew = join(states.start, in_next_iteration(states.end, loop));
  }
  if (known == Trips::unknown) {
    pass(loop, state);
    join(state, states.end);
  } else {
    state = states.end;
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

}  // namespace tegula::analysis

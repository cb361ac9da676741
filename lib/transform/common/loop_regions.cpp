#include "transform/common/loop_regions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "analysis/effects.hpp"
#include "ir/core/rewrite.hpp"
#include "ir/core/walk.hpp"
#include "ir/text/text.hpp"
#include "ir/values/trip_count.hpp"
#include "tegula/support/error.hpp"
#include "transform/common/ring_lifetimes.hpp"

namespace tegula::transform {

using ir::Block;
using ir::LoopRegion;
using ir::Op;
using ir::Value;

namespace {

/// Visits each value that an op, or an op inside it, reads.
template <class Visit>
void for_each_read(Op& op, Visit visit) {
  for (Value* operand : op.operands()) visit(*operand);
  for (int b = 0; b < op.block_count(); ++b)
    ir::walk_pre_order(op.block(b), [&](Op& inner) {
      for (Value* operand : inner.operands()) visit(*operand);
      return ir::Walk::advance;
    });
}

bool has_zero(ir::Type const& type) { return type.is_scalar() || type.is_tile(); }

}  // namespace

Op& first_effect(ir::Function const& function) {
  for (Op& op : function.body())
    if (!op.pure() && !op.is(ir::Family::launch) && !op.is<ir::BufferAllocOp>()) return op;
  return function.body().back();
}

bool holds_a_loop(Block const& block) {
  bool found = false;
  ir::walk(const_cast<Block&>(block), [&](Op const& op) { found = found || op.is<ir::ForOp>(); });
  return found;
}

void mark(Op& op, LoopRegion region) {
  if (auto* const loop = op.dyn<ir::ForOp>()) loop->region = region;
  if (auto* const branch = op.dyn<ir::IfOp>()) branch->region = region;
  if (auto* const elect = op.dyn<ir::ElectOp>()) elect->region = region;
  if (auto* const fill = op.dyn<ir::FillOp>()) fill->region = region;
}

LoopPipeline::LoopPipeline(Op& loop, std::vector<StagedOp> order) : loop_(loop), order_(std::move(order)) {
  for (StagedOp const& staged : order_) {
    stage_[staged.op] = staged.stage;
    depth_ = std::max(depth_, staged.stage);
  }
  analyse();
}

std::optional<std::int64_t> LoopPipeline::counts_by(ir::Loop const& loop, int carry) {
  Op const* const next = loop.yielded(carry)->defined_by<ir::AddOp>();
  if (next == nullptr || next->lhs() != loop.carried(carry)) return std::nullopt;
  return ir::constant_int(*next->rhs());
}

// ---- what each stage needs

bool LoopPipeline::home_op(Value const& value) const {
  return value.defining_op() != nullptr && value.defining_op()->parent() == &body();
}

void LoopPipeline::refuse(std::string text) {
  if (error_.empty()) error_ = std::move(text);
}

void LoopPipeline::analyse() {
  for (Op& op : body())
    if (!listed(op) && !analysis::is_movable(op) && !op.info().has(ir::terminator))
      refuse(std::string(op.info().mnemonic) + " has effects but no stage");
  for (int k = 0; k < loop_.count(); ++k) {
    Carry carry{loop_.carried(k), loop_.yielded(k), depth_, counts_by(loop_, k)};
    if (!carry.by && home_op(*carry.next) && listed(*carry.next->defining_op()))
      carry.home = stage_.at(carry.next->defining_op());
    carries_.push_back(carry);
  }
  for (Carry const& carry : carries_) need(*carry.next, carry.home, "yield");
  for (StagedOp const& staged : order_) need_operands(*staged.op, staged.stage);
}

void LoopPipeline::need_operands(Op& op, int stage) {
  for_each_read(op, [&](Value& value) { need(value, stage, std::string(op.info().mnemonic)); });
}

void LoopPipeline::need(Value& value, int stage, std::string const& subject) {
  if (home_op(value)) {
    Op& op = *value.defining_op();
    if (!listed(op)) {
      if (seen_.insert({&op, stage}).second) need_operands(op, stage);
      return;
    }
    int const from = stage_.at(&op);
    if (from > stage)
      return refuse(fmt::format("{} of stage {} reads {} of stage {}", subject, stage, ir::to_string(value), from));
    return cross(value, from, stage);
  }
  int const carried = loop_.carry_of(value);
  if (carried < 0) return;
  Carry const& carry = carries_[static_cast<std::size_t>(carried)];
  if (carry.by) return;
  if (carry.home > stage)
    return refuse(fmt::format("{} of stage {} reads {}, which the previous iteration computes in stage {}", subject,
                              stage, ir::to_string(value), carry.home));
  cross(value, carry.home, stage);
}

void LoopPipeline::cross(Value& value, int from, int to) {
  if (from == to) return;
  if (!has_zero(value.type()))
    return refuse(fmt::format("{} of type {} goes from stage {} to {}; only tiles and scalars can",
                              ir::to_string(value), ir::to_string(value.type()), from, to));
  auto const known = std::find_if(crossings_.begin(), crossings_.end(),
                                  [&](Crossing const& crossing) { return crossing.value == &value; });
  if (known == crossings_.end())
    crossings_.push_back({&value, from, to - from});
  else
    known->turns = std::max(known->turns, to - from);
}

// ---- one turn

Value* LoopPipeline::offset(ir::Builder& builder, Value* base, Value* by) {
  return builder.same(ir::AddOp{}, {base, by});
}

Value* LoopPipeline::materialise(ir::Builder& builder, Value& value, ir::ValueMap& values) {
  if (auto const known = values.find(&value); known != values.end()) return known->second;
  if (!home_op(value)) {
    if (value.owner_block() == &body()) throw InternalError("loop regions: " + ir::to_string(value) + " is not known");
    return &value;
  }
  Op& op = *value.defining_op();
  if (listed(op)) throw InternalError("loop regions: " + ir::print(op) + " comes too late");
  emit(builder, op, values, LoopRegion::none);
  return values.at(&value);
}

void LoopPipeline::materialise_operands(ir::Builder& builder, Op& op, ir::ValueMap& values) {
  for_each_read(op, [&](Value& value) {
    bool const inside = value.defining_op() != nullptr ? ancestor_in(*value.defining_op(), body()) == &op
                                                       : value.owner_block() != &body();
    if (!inside) (void)materialise(builder, value, values);
  });
}

void LoopPipeline::emit(ir::Builder& builder, Op& op, ir::ValueMap& values, LoopRegion region) {
  materialise_operands(builder, op, values);
  Op& copy = builder.clone(op, values);
  if (region != LoopRegion::none) mark(copy, region);
}

bool LoopPipeline::leaves_group(Value const& value, int stage, Group const& group, bool last_of_stage) const {
  bool const crosses = std::any_of(crossings_.begin(), crossings_.end(),
                                   [&](Crossing const& crossing) { return crossing.value == &value; });
  return crosses || std::any_of(value.uses().begin(), value.uses().end(), [&](ir::Use const& use) {
           Op const* const user = ancestor_in(*use.user, body());
           if (std::find(group.begin(), group.end(), user) != group.end()) return false;
           if (user->info().has(ir::terminator)) return !last_of_stage;
           return !listed(*user) || stage_.at(user) == stage;
         });
}

/// Runs consecutive ops of one stage; under a test, values that others read are results of the branch.
void LoopPipeline::run_group(ir::Builder& builder, Turn const& turn, State& state, int stage, Group const& group,
                             bool last_of_stage, ir::ValueMap& values) {
  auto const update = [&](ir::Builder& at, ir::ValueMap& known) {
    std::vector<Value*> next;
    for (Carry const& carry : carries_)
      if (last_of_stage && carry.home == stage) next.push_back(materialise(at, *carry.next, known));
    return next;
  };
  std::vector<Value*> next;
  if (stage >= turn.guarded_below) {
    for (Op* op : group) emit(builder, *op, values, turn.region);
    next = update(builder, values);
  } else {
    Value* const inside =
        builder.value(ir::make_op<ir::CompareOp>(ir::Predicate::lt), {values.at(loop_.counter()), loop_.upper()},
                      ir::Type::scalar(Element::boolean));
    Op& branch = builder.op(ir::IfOp{}, {inside}, {});
    mark(branch, turn.region);
    ir::Builder then(branch.add_block()), otherwise(branch.add_block());
    ir::ValueMap local = values;
    for (Op* op : group) emit(then, *op, local, turn.region);
    std::vector<Value*> from_then = update(then, local), from_else, leaving;
    for (std::size_t i = 0; i < carries_.size(); ++i)
      if (last_of_stage && carries_[i].home == stage) from_else.push_back(state.carried[i]);
    for (Op* op : group)
      for (int i = 0; i < op->result_count(); ++i) {
        Value* const value = op->result(i);
        if (!leaves_group(*value, stage, group, last_of_stage)) continue;
        leaving.push_back(value);
        from_then.push_back(local.at(value));
        from_else.push_back(otherwise.constant(0.0, value->type()));
      }
    then.op(ir::YieldOp{}, from_then, {});
    otherwise.op(ir::YieldOp{}, from_else, {});
    std::vector<Value*> results;
    for (Value* value : from_then) results.push_back(branch.add_result(value->type()));
    auto const own = static_cast<std::ptrdiff_t>(results.size() - leaving.size());
    next.assign(results.begin(), results.begin() + own);
    for (std::size_t i = 0; i < leaving.size(); ++i) values[leaving[i]] = results[static_cast<std::size_t>(own) + i];
  }
  auto at = next.begin();
  for (std::size_t i = 0; i < carries_.size(); ++i)
    if (last_of_stage && carries_[i].home == stage) state.carried[i] = *at++;
}

/// Emits the ops of one turn: stage by stage in the order given, each for its own iteration. Updates the state: carried
/// values become those after the turn, and crossing values grow one turn older.
void LoopPipeline::run_turn(ir::Builder& builder, Turn const& turn, State& state) {
  std::vector<std::pair<int, Group>> groups;
  for (StagedOp const& staged : order_) {
    if (staged.stage < turn.first || staged.stage > turn.last) continue;
    if (groups.empty() || groups.back().first != staged.stage) groups.push_back({staged.stage, {}});
    groups.back().second.push_back(staged.op);
  }
  std::vector<ir::ValueMap> values(static_cast<std::size_t>(depth_) + 1);
  std::vector<bool> begun(values.size());
  std::vector<Value*> const before = state.carried;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    auto const& [stage, group] = groups[g];
    ir::ValueMap& map = values[static_cast<std::size_t>(stage)];
    if (!begun[static_cast<std::size_t>(stage)]) {
      begun[static_cast<std::size_t>(stage)] = true;
      int const on = turn.ahead - stage;
      map[loop_.counter()] = on == 0 ? turn.base : offset(builder, turn.base, steps_[static_cast<std::size_t>(on)]);
      for (std::size_t i = 0; i < carries_.size(); ++i) {
        Carry const& carry = carries_[i];
        if (carry.by)
          map[carry.argument] =
              on == 0 ? turn.counters[i] : offset(builder, turn.counters[i], builder.index(on * *carry.by));
        else if (carry.home == stage)
          map[carry.argument] = before[i];
      }
      for (std::size_t i = 0; i < crossings_.size(); ++i)
        if (int const late = stage - crossings_[i].home; late > 0 && late <= crossings_[i].turns)
          map[crossings_[i].value] = state.history[i][static_cast<std::size_t>(late) - 1];
    }
    bool const last = std::none_of(groups.begin() + static_cast<std::ptrdiff_t>(g) + 1, groups.end(),
                                   [&, at = stage](auto const& later) { return later.first == at; });
    run_group(builder, turn, state, stage, group, last, map);
  }
  for (std::size_t i = 0; i < crossings_.size(); ++i) {
    ir::ValueMap const& map = values[static_cast<std::size_t>(crossings_[i].home)];
    auto const now = map.find(crossings_[i].value);
    auto& history = state.history[i];
    history.insert(history.begin(), now == map.end() ? nullptr : now->second);
    history.pop_back();
  }
}

/// Makes a loop whose body is one turn; the state goes through it.
void LoopPipeline::loop_of_turns(ir::Builder& builder, Value* lower, Value* upper, State& state, Turn turn) {
  std::vector<Value*> operands = {lower, upper, loop_.step()};
  std::size_t const bounds = operands.size();
  bool const all = turn.first == 0;  // else nothing goes on from stage to stage
  for (Value* value : state.carried) operands.push_back(value);
  for (auto const& history : state.history)
    if (all) operands.insert(operands.end(), history.begin(), history.end());
  std::vector<ir::Type> types;
  for (Value const* init : std::span(operands).subspan(bounds)) types.push_back(init->type());
  Op& created = builder.op(loop_.op().as<ir::ForOp>(), operands, types);
  created.set_where(loop_.op().where());
  mark(created, turn.region);
  if (turn.region == LoopRegion::epilogue) created.as<ir::ForOp>().unroll = 0;
  Block& block = created.add_block();
  turn.base = block.add_argument(ir::Type::index(), loop_.counter()->name());
  State inner = state;
  auto const for_each = [&](State& of, auto visit) {
    for (Value*& value : of.carried) visit(value);
    if (!all) return;
    for (auto& history : of.history)
      for (Value*& value : history) visit(value);
  };
  int i = 0;
  for_each(inner, [&](Value*& value) {
    std::string const name = i < static_cast<int>(carries_.size()) ? loop_.carried(i)->name() : std::string();
    value = block.add_argument(types[static_cast<std::size_t>(i)], name);
    ++i;
  });
  turn.counters = inner.carried;
  turn.region = LoopRegion::none;
  ir::Builder inside(block);
  inside.set_where(loop_.op().where());
  run_turn(inside, turn, inner);
  std::vector<Value*> yielded;
  for_each(inner, [&](Value*& value) { yielded.push_back(value); });
  inside.op(ir::YieldOp{}, yielded, {});
  i = 0;
  for_each(state, [&](Value*& value) { value = created.result(i++); });
}

// ---- the parts

void LoopPipeline::rewrite(Tail tail) {
  Value *const lower = loop_.lower(), *const upper = loop_.upper(), *const step = loop_.step();
  auto const trips = ir::trip_count(loop_.op());
  bool const long_enough = trips && *trips >= depth_;
  int const guarded = long_enough ? 0 : depth_ + 1;
  ir::Builder builder = ir::Builder::before(loop_.op());
  builder.set_where(loop_.op().where());

  steps_ = {nullptr, step};
  for (int times = 2; times <= depth_; ++times)
    steps_.push_back(builder.same(ir::MulOp{}, {step, builder.index(times)}));

  State state;
  for (int k = 0; k < loop_.count(); ++k) state.carried.push_back(loop_.init(k));
  for (Crossing const& crossing : crossings_)
    state.history.emplace_back(static_cast<std::size_t>(crossing.turns), nullptr);
  std::vector<Value*> const counters = state.carried;
  for (int turn = 0; turn < depth_; ++turn)
    run_turn(builder, {lower, counters, turn, 0, turn, guarded, LoopRegion::prologue}, state);

  Turn const main = {nullptr, {}, depth_, 0, depth_, tail == Tail::predicated ? depth_ : 0, LoopRegion::main};
  if (tail == Tail::predicated) {
    loop_of_turns(builder, lower, upper, state, main);
  } else {
    Value* const stop = builder.same(ir::SubOp{}, {upper, steps_.back()});
    Value* const length = builder.same(ir::MaxOp{}, {builder.same(ir::SubOp{}, {stop, lower}), builder.index(0)});
    Value* const turns = builder.same(ir::CeilDivOp{}, {length, step});
    Value* const stopped = builder.same(ir::AddOp{}, {lower, builder.same(ir::MulOp{}, {turns, step})});
    loop_of_turns(builder, lower, stop, state, main);
    bool const alike = crossings_.empty() && std::all_of(order_.begin(), order_.end(), [&](StagedOp const& staged) {
                         return staged.stage == 0 || staged.stage == depth_;
                       });
    if (alike) {
      loop_of_turns(builder, stopped, upper, state, {nullptr, {}, depth_, depth_, depth_, 0, LoopRegion::epilogue});
    } else {
      std::vector<Value*> const left = state.carried;
      for (int turn = 0; turn < depth_; ++turn)
        run_turn(builder, {stopped, left, depth_ + turn, turn + 1, depth_, guarded, LoopRegion::epilogue}, state);
    }
  }
  ir::replace(loop_.op(), state.carried);
}

}  // namespace tegula::transform

#include "codegen/host/plan.hpp"

#include <algorithm>
#include <optional>

#include "ir/core/families.hpp"
#include "ir/core/loop.hpp"
#include "ir/core/match.hpp"
#include "ir/memory/accesses.hpp"
#include "support/locks.hpp"

namespace tegula::codegen::host {

namespace {

constexpr int cost_limit = 1 << 20;
/// Limits the ops of a chain in one nest, which evaluates its values by recursion: longer chains are cut in parts.
constexpr int depth_limit = 400;
/// Sets the cost from which a value with two consumers is kept instead of being computed twice.
constexpr int costly = 8;
/// Sets the cost from which a value is kept rather than computed again for every element it is broadcast to.
constexpr int costly_to_broadcast = 4;

int own_cost(ir::Op const& op) {
  using ir::on;
  if (op.is(ir::Family::constant) || op.info().has(ir::rearranges)) return 0;
  auto const element = [&] { return op.result()->type().element(); };
  auto const quotient = [&] { return is_float(element()) ? 3 : 10; };
  return ir::match<std::optional<int>>(op, on<ir::DivOp, ir::RemOp, ir::CeilDivOp>(quotient),
                                       on<ir::SqrtOp>([] { return 4; }),
                                       on<ir::CastOp>([&] { return bits(element()) == 16 ? 4 : 1; }),
                                       on<ir::BitcastOp>([] { return 0; }), on<ir::GatherOp>([] { return 4; }))
      .value_or(1);
}

/// True when `use` lies in a loop that does not also hold `def`.
bool crosses_loop(ir::Op const& def, ir::Op const& use) {
  for (ir::Op const* op = use.parent_op(); op != def.parent_op() && op != nullptr; op = op->parent_op())
    if (ir::is_loop(*op)) return true;
  return false;
}

void collect_stores(ir::Block const& block, std::vector<ir::Value const*>& written) {
  for (ir::Op const& op : block) {
    if (op.info().effects.writes(ir::Space::global)) written.push_back(&ir::parameter_behind(*op.in("tensor")));
    if (op.is<ir::CallOp>()) {
      auto const& parameters = op.function()->parent()->find(op.as<ir::CallOp>().callee.view())->parameter_attributes();
      for (int i = 0; i < op.operand_count(); ++i)
        if (op.operand(i)->type().is_tensor() && parameters[static_cast<std::size_t>(i)].direction != Direction::in)
          written.push_back(&ir::parameter_behind(*op.operand(i)));
    }
    for (int i = 0; i < op.block_count(); ++i) collect_stores(op.block(i), written);
  }
}

}  // namespace

bool is_inlineable(ir::Op const& op) {
  if (op.result_count() != 1 || !op.result()->type().is_tile()) return false;
  return op.is(ir::Family::elementwise) || ir::relabels(op) || op.is(ir::Family::constant) || reads_tensor(op);
}

bool regroups(ir::Op const& op) { return ir::moves_elements(op) && !ir::relabels(op); }

bool reads_tensor(ir::Op const& op) { return op.info().effects.reads(ir::Space::global) && !op.info().atomic(); }

bool gives_item(ir::Op const& op) { return op.is<ir::ItemOp>() || op.is<ir::ItemAtOp>(); }

Plan::Plan(ir::Function const& kernel) {
  collect_stores(kernel.body(), written_);
  find_reads(kernel.body());
  count_costs(kernel.body());
  find_contractions(kernel.body());
  decide(kernel.body());
}

std::vector<ir::Op const*> const& Plan::consumers(ir::Value const& value) const {
  static constinit support::Lasting<std::vector<ir::Op const*>> none;
  auto const found = consumers_.find(&value);
  return found == consumers_.end() ? none.get() : found->second;
}

Contraction const* Plan::contraction(ir::Op const& loop) const {
  auto const found = contractions_.find(&loop);
  return found == contractions_.end() ? nullptr : &found->second;
}

int Plan::cost(ir::Value const& value) const {
  auto const found = cost_.find(&value);
  return found == cost_.end() ? 0 : found->second;
}

bool Plan::written(ir::Value const& tensor) const {
  return std::find(written_.begin(), written_.end(), &ir::parameter_behind(tensor)) != written_.end();
}

bool Plan::may_stream(ir::Value const& tensor) const {
  return !has_atomics_ && !read_.contains(&ir::parameter_behind(tensor));
}

void Plan::find_reads(ir::Block const& block) {
  for (ir::Op const& op : block) {
    has_atomics_ = has_atomics_ || op.info().atomic();
    if (reads_tensor(op)) read_.insert(&ir::parameter_behind(*op.in("tensor")));
    if (op.is<ir::CallOp>())
      for (ir::Value const* operand : op.operands()) read_.insert(&ir::parameter_behind(*operand));
    for (int i = 0; i < op.block_count(); ++i) find_reads(op.block(i));
  }
}

void Plan::count_costs(ir::Block const& block) {
  for (ir::Op const& op : block) {
    if (is_inlineable(op)) {
      std::int64_t sum = own_cost(op);
      int depth = 1;
      for (ir::Value const* operand : op.operands()) {
        if (!operand->type().is_tile()) continue;
        sum += cost(*operand);
        if (auto const found = depth_.find(operand); found != depth_.end()) depth = std::max(depth, found->second + 1);
      }
      cost_[op.result()] = static_cast<int>(std::min<std::int64_t>(sum, cost_limit));
      depth_[op.result()] = depth % depth_limit;
    }
    for (int i = 0; i < op.block_count(); ++i) count_costs(op.block(i));
  }
}

void Plan::find_contractions(ir::Block const& block) {
  for (ir::Op const& op : block) {
    if (op.is<ir::ForOp>())
      if (std::optional<Contraction> const found = match(op)) {
        contractions_[&op] = *found;
        continue;
      }
    for (int i = 0; i < op.block_count(); ++i) find_contractions(op.block(i));
  }
}

bool Plan::reads_written_tensor(ir::Value const& value) const {
  std::vector<ir::Value const*> pending = {&value};
  std::unordered_set<ir::Value const*> seen;
  while (!pending.empty()) {
    ir::Value const* at = pending.back();
    pending.pop_back();
    ir::Op const* op = at->defining_op();
    if (!seen.insert(at).second || op == nullptr || !is_inlineable(*op)) continue;
    if (reads_tensor(*op) && written(*op->in("tensor"))) return true;
    pending.insert(pending.end(), op->operands().begin(), op->operands().end());
  }
  return false;
}

/// Tells whether an op returns a scalar that no statement of the loop around it changes.
bool Plan::is_constant_scalar(ir::Op const& op) const {
  bool const constant = op.pure() || (reads_tensor(op) && !written(*op.in("tensor")));
  return op.result_count() == 1 && op.result()->type().is_scalar() && op.block_count() == 0 && constant &&
         !gives_item(op);
}

std::optional<Contraction> Plan::match(ir::Op const& loop) const {
  ir::Loop const whole(loop);
  if (whole.count() != 1 || !whole.result(0)->type().is_tile()) return std::nullopt;
  ir::Block const& body = loop.block();
  ir::Op const* dot = whole.yielded(0)->defined_by<ir::DotOp>();
  if (dot == nullptr || dot->parent() != &body) return std::nullopt;
  ir::Value const* accumulator = whole.carried(0);
  if (dot->in<ir::DotOp>("accumulator") != accumulator || accumulator->uses().size() != 1 ||
      dot->result()->uses().size() != 1)
    return std::nullopt;
  for (ir::Op const& op : body)
    if (&op != dot && !op.info().has(ir::terminator) && !is_inlineable(op) && !is_constant_scalar(op))
      return std::nullopt;
  if (reads_written_tensor(*dot->lhs()) || reads_written_tensor(*dot->rhs())) return std::nullopt;
  return Contraction{&loop, dot};
}

// Uses come after definitions, so walking backward sees all decisions about users first.
void Plan::decide(ir::Block const& block) {
  for (auto at = block.end(); at != block.begin();) {
    --at;
    ir::Op const& op = *at;
    for (int i = op.block_count() - 1; i >= 0; --i) decide(op.block(i));
    if (is_inlineable(op)) decide(op);
  }
}

void Plan::decide(ir::Op const& op) {
  ir::Value const& value = *op.result();
  std::vector<ir::Op const*>& consumers = consumers_[&value];
  auto const add = [&](ir::Op const* consumer) {
    if (std::find(consumers.begin(), consumers.end(), consumer) == consumers.end()) consumers.push_back(consumer);
  };
  bool keep = false;
  bool broadcast = false;
  for (ir::Use const& use : value.uses()) {
    ir::Op const& user = *use.user;
    if (user.is<ir::DotOp>() && !use.is<ir::DotOp>("accumulator")) {
      ir::Op const* const around = user.parent_op();
      Contraction const* whole = around != nullptr && ir::is_loop(*around) ? contraction(*around) : nullptr;
      if (whole != nullptr && op.parent() == user.parent()) {
        // packed by the contraction
      } else if (use.is<ir::DotOp>("lhs")) {
        keep = true;
      } else {
        panels_[&value] = true;
      }
      add(&user);
    } else if (is_inlineable(user) && !kept(*user.result())) {
      if (kept_as_panels(*user.result())) add(&user);
      for (ir::Op const* consumer : this->consumers(*user.result())) add(consumer);
      if (ir::repeats(user)) broadcast = true;
    } else {
      add(&user);
    }
  }
  // Dots alone read panels; other consumers read rows.
  if (keep || pays_to_keep(op, consumers, broadcast)) kept_[&value] = true;
}

/// Tells whether a value is computed once into memory, not anew by each consumer.
bool Plan::pays_to_keep(ir::Op const& op, std::vector<ir::Op const*> const& consumers, bool broadcast) const {
  ir::Value const& value = *op.result();
  int const cost = this->cost(value);
  bool const crosses = std::any_of(consumers.begin(), consumers.end(),
                                   [&](ir::Op const* consumer) { return crosses_loop(op, *consumer); });
  return (crosses && cost > 0) || is_cut(value) || (consumers.size() > 1 && cost >= costly) ||
         (broadcast && cost >= costly_to_broadcast) || (reads_tensor(op) && written(*op.in("tensor")));
}

std::optional<BlockDependence> block_dependence(ir::Value const& value, ir::Value const* index) {
  BlockDependence result;
  std::vector<ir::Value const*> pending = {&value};
  std::unordered_set<ir::Value const*> seen;
  while (!pending.empty()) {
    ir::Value const* at = pending.back();
    pending.pop_back();
    if (at == index || !seen.insert(at).second) continue;
    ir::Op const* op = at->defining_op();
    if (op == nullptr) {
      if (at->type().is_tensor()) continue;
      if (at->type().is_scalar() && at->owner_block()->parent_function() != nullptr) continue;
      return std::nullopt;
    }
    if (op->is<ir::BlockIndexOp>()) {
      result.axes[op->as<ir::BlockIndexOp>().axis] = true;
      continue;
    }
    bool const known =
        is_inlineable(*op) || at->type().is_tensor() || (at->type().is_scalar() && (op->pure() || reads_tensor(*op)));
    if (op->block_count() != 0 || !known || gives_item(*op)) return std::nullopt;
    pending.insert(pending.end(), op->operands().begin(), op->operands().end());
  }
  return result;
}

}  // namespace tegula::codegen::host

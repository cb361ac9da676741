#include "analysis/axis_facts.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "analysis/axis_transfer.hpp"
#include "analysis/call_graph.hpp"
#include "analysis/value_facts_text.hpp"
#include "ir/core/builder.hpp"
#include "ir/core/loop.hpp"
#include "ir/text/text.hpp"
#include "ir/values/predicate.hpp"

namespace tegula::analysis {
namespace {

using ir::Op;
using ir::Value;

constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t highest = std::numeric_limits<std::int64_t>::max();

/// Returns a number that both divide, or the larger one if the product grows too large.
std::int64_t common_multiple(std::int64_t a, std::int64_t b) {
  constexpr std::int64_t max = std::int64_t{1} << 30;
  if (a == 0 || b == 0) return 0;
  return a > max || b > max ? std::max(a, b) : std::lcm(a, b);
}

/// Walks a module from callers to callees, with the requirements of each kernel.
class Solver {
 public:
  Solver(ir::Module const& module, FactMap& facts) : module_(module), facts_(facts) {}

  void run() {
    auto order = callees_first(module_);
    std::reverse(order.begin(), order.end());
    for (ir::Function* function : order) solve(*function);
  }

 private:
  [[nodiscard]] ValueFacts get(Value const& value) const { return facts_in(facts_, value); }

  // ---- functions and blocks

  void solve(ir::Function const& function) {
    for (int i = 0; i < function.parameter_count(); ++i) {
      Value const& value = *function.parameter(i);
      if (!value.type().is_scalar() || is_float(value.type().element())) continue;
      if (!function.is_kernel() && facts_.count(&value) != 0) continue;  // joined over the callers, which came before
      ValueFacts facts = unknown_facts(value.type());
      facts.axes[0].divisibility = function.parameter_attributes()[static_cast<std::size_t>(i)].multiple_of;
      facts_[&value] = facts;
    }
    requirements_.clear();
    if (function.is_kernel())
      for (Op const& op : function.body())
        if (op.is<ir::RequireOp>()) assume(*op.operand());
    block(function.body());
  }

  void block(ir::Block const& body) {
    for (Op const& op : body) {
      if (op.is<ir::ForOp>())
        for_op(op);
      else if (op.is<ir::IfOp>())
        branch(op);
      else if (op.is<ir::CallOp>())
        call(op);
      else if (op.result_count() == 1 && !is_float(op.result()->type().element()))
        set(*op.result(), transfer(op, facts_));
      bool const visited = op.is<ir::ForOp>() || op.is<ir::IfOp>();
      for (int i = 0; i < op.block_count() && !visited; ++i) block(op.block(i));  // elected lanes, groups of warps
    }
  }

  void set(Value const& value, ValueFacts facts) {
    auto const known = requirements_.find(key_of(value));
    if (known != requirements_.end()) refine(facts, known->second);
    facts_[&value] = std::move(facts);
  }

  void for_op(Op const& op) {
    ir::Loop const loop(op);
    ValueFacts const lower = get(*loop.lower()), upper = get(*loop.upper()), step = get(*loop.step());
    ValueFacts counter = unknown_facts(ir::Type::index());
    counter.axes[0].divisibility = std::gcd(lower.axes[0].divisibility, step.axes[0].divisibility);
    IntegerRange const range = ir::counter_range({lower.min, lower.max}, {upper.min, upper.max}, {step.min, step.max});
    counter.min = range.min;
    counter.max = range.max;
    if (op.as<ir::ForOp>().tiles) counter.max = std::max(counter.min, std::min(counter.max, max_grid_blocks));
    facts_[loop.counter()] = counter;
    for (int i = 0; i < loop.count(); ++i) facts_[loop.carried(i)] = get(*loop.init(i));
    // Divisibility, contiguity and constancy only fall to divisors; ranges are widened at once. So this ends.
    for (bool changed = true; changed;) {
      changed = false;
      block(loop.body());
      for (int i = 0; i < loop.count(); ++i) {
        ValueFacts const before = get(*loop.carried(i));
        ValueFacts after = join(before, get(*loop.yielded(i)));
        IntegerRange const full = ir::full_range(op.result(i)->type().element());
        if (after.min < before.min) after.min = full.min;
        if (after.max > before.max) after.max = full.max;
        if (after == before) continue;
        facts_[loop.carried(i)] = after;
        changed = true;
      }
    }
    for (int i = 0; i < loop.count(); ++i) facts_[loop.result(i)] = join(get(*loop.init(i)), get(*loop.yielded(i)));
  }

  void branch(Op const& op) {
    block(op.block(0));
    block(op.block(1));
    for (int i = 0; i < op.result_count(); ++i)
      facts_[op.result(i)] = join(get(*op.block(0).back().operand(i)), get(*op.block(1).back().operand(i)));
  }

  void call(Op const& op) {
    ir::Function const* const callee = module_.find(op.as<ir::CallOp>().callee.view());
    if (callee == nullptr) return;
    for (int i = 0; i < op.operand_count(); ++i) {
      Value const* const parameter = callee->parameter(i);
      if (parameter->type().is_tensor()) continue;
      auto const [at, fresh] = facts_.try_emplace(parameter, get(*op.operand(i)));
      if (!fresh) at->second = join(at->second, get(*op.operand(i)));
    }
  }

  // ---- requirements

  /// Names the subject of a requirement: an extent (by tensor and axis) or a value.
  using Key = std::pair<Value const*, std::int64_t>;
  static Key key_of(Value const& value) {
    if (Op const* const extent = value.defined_by<ir::ExtentOp>(); extent != nullptr)
      return {extent->operand(), extent->as<ir::ExtentOp>().axis};
    return {&value, -1};
  }
  struct Known {
    std::int64_t divisor = 1;
    IntegerRange range;
  };

  static void refine(ValueFacts& facts, Known const& known) {
    for (AxisFact& fact : facts.axes)
      if (fact.contiguity == 1) fact.divisibility = common_multiple(fact.divisibility, known.divisor);
    facts.min = std::max(facts.min, known.range.min);
    facts.max = std::max(facts.min, std::min(facts.max, known.range.max));
  }

  void know(Value const& value, Known const& known) {
    Known& all = requirements_[key_of(value)];
    all.divisor = common_multiple(all.divisor, known.divisor);
    all.range.min = std::max(all.range.min, known.range.min);
    all.range.max = std::min(all.range.max, known.range.max);
    if (value.defining_op() == nullptr) {
      auto const found = facts_.find(&value);
      if (found != facts_.end()) refine(found->second, all);
    }
  }

  void assume(Value const& condition) {
    Op const* const op = condition.defining_op();
    if (op == nullptr) return;
    if (op->is<ir::AndOp>()) {
      assume(*op->lhs());
      assume(*op->rhs());
    }
    if (!op->is<ir::CompareOp>() || !op->lhs()->type().is_scalar() || !ir::has_known_order(op->lhs()->type().element()))
      return;
    assume(*op->lhs(), op->as<ir::CompareOp>().predicate, *op->rhs());
    assume(*op->rhs(), ir::swapped(op->as<ir::CompareOp>().predicate), *op->lhs());
  }

  void assume(Value const& left, ir::Predicate predicate, Value const& right) {
    auto const bound = ir::constant_int(right);
    if (!bound) return;
    Op const* const op = left.defined_by<ir::RemOp>();
    if (predicate == ir::Predicate::eq && *bound == 0 && op != nullptr)
      if (auto const divisor = ir::constant_int(*op->rhs()); divisor && *divisor > 0) know(*op->lhs(), {*divisor, {}});
    switch (predicate) {
      case ir::Predicate::eq:
        return know(left, {1, {*bound, *bound}});
      case ir::Predicate::ne:
        return;
      case ir::Predicate::lt:
        return *bound == lowest ? void() : know(left, {1, {lowest, *bound - 1}});
      case ir::Predicate::le:
        return know(left, {1, {lowest, *bound}});
      case ir::Predicate::gt:
        return *bound == highest ? void() : know(left, {1, {*bound + 1, highest}});
      case ir::Predicate::ge:
        return know(left, {1, {*bound, highest}});
    }
  }

  ir::Module const& module_;
  FactMap& facts_;
  std::map<Key, Known> requirements_;
};

}  // namespace

std::int64_t ValueFacts::divisor() const {
  std::int64_t best = 1;
  for (AxisFact const& fact : axes) {
    std::int64_t const here = divisor_at(fact, 1);
    if (here == 0) return 0;
    best = std::max(best, here);
  }
  return best;
}

AxisFacts::AxisFacts(ir::Module const& module) { Solver(module, facts_).run(); }

ValueFacts AxisFacts::facts(ir::Value const& value) const {
  auto const found = facts_.find(&value);
  if (found != facts_.end()) return found->second;
  ValueFacts result;
  result.axes.resize(static_cast<std::size_t>(fact_axes(value.type())));
  return result;
}

std::string AxisFacts::str(ir::Function const& function) const {
  auto const names = ir::value_names(function);
  std::string text;
  auto const show = [&](Value const& value) {
    auto const found = facts_.find(&value);
    if (found == facts_.end() || is_float(value.type().element())) return;
    ValueFacts facts = found->second;
    IntegerRange const full = ir::full_range(value.type().element());  // says nothing
    if (facts.min <= full.min && facts.max >= full.max) facts.min = lowest, facts.max = highest;
    text += names.at(&value) + ": " + to_string(facts);
    text += "\n";
  };
  auto const all = [&](auto const& self, ir::Block const& block) -> void {
    for (int i = 0; i < block.argument_count(); ++i) show(*block.argument(i));
    for (Op const& op : block) {
      for (int i = 0; i < op.result_count(); ++i) show(*op.result(i));
      for (int i = 0; i < op.block_count(); ++i) self(self, op.block(i));
    }
  };
  all(all, function.body());
  return text;
}

}  // namespace tegula::analysis

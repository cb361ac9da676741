#include "analysis/axis_facts.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

#include "analysis/call_graph.hpp"
#include "analysis/value_facts_text.hpp"
#include "ir/builder.hpp"
#include "ir/loop.hpp"
#include "ir/text.hpp"
#include "ir/walk.hpp"
#include "tegula/target/tma_rules.hpp"

namespace tegula::analysis {
namespace {

using ir::Op;
using ir::Value;
__extension__ typedef __int128 Wide;

constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t highest = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t greatest_extent = std::int64_t{1} << 47;
constexpr std::int64_t greatest_block = (std::int64_t{1} << 31) - 1;
constexpr std::int64_t max_warps = 32;  ///< of a CTA
constexpr std::int64_t max_divisibility = std::int64_t{1} << 40;

/// Computes a gcd in which 0 stands for "is 0", which everything divides.
std::int64_t gcd(std::int64_t a, std::int64_t b) { return std::gcd(a, b); }
std::int64_t power_of_two_part(std::int64_t value) { return value == 0 ? 0 : value & -value; }
std::int64_t magnitude(std::int64_t value) {
  return value == lowest ? std::int64_t{1} << 62 : value < 0 ? -value : value;
}

struct Range {
  std::int64_t min = lowest;
  std::int64_t max = highest;
};

Range full_range(Element element) {
  if (element == Element::boolean) return {0, 1};
  if (is_integer(element)) return {min_integer(element), max_integer(element)};
  return {};
}

/// Gives a number that both divide, or the larger one if the product grows too large.
std::int64_t common_multiple(std::int64_t a, std::int64_t b) {
  constexpr std::int64_t max = std::int64_t{1} << 30;
  if (a == 0 || b == 0) return 0;
  return a > max || b > max ? std::max(a, b) : std::lcm(a, b);
}

/// Gives the range of exact results, or the element's whole range if a result may wrap.
std::pair<Range, bool> range_of(Wide min, Wide max, Element element) {
  Range const full = full_range(element);
  if (min < full.min || max > full.max) return {full, true};
  return {{static_cast<std::int64_t>(min), static_cast<std::int64_t>(max)}, false};
}

int axes_of(ir::Type const& type) { return type.is_tile() ? type.rank() : 1; }
std::int64_t extent_of(ir::Type const& type, int axis) { return type.is_tile() ? type.shape()[axis] : 1; }

/// Gives a divisor of the values at positions that are multiples of `run`.
std::int64_t divisor_at(AxisFact const& fact, std::int64_t run) {
  return run % fact.contiguity == 0 ? fact.divisibility : gcd(fact.divisibility, gcd(run, fact.contiguity));
}

class Solver {
 public:
  Solver(ir::Module const& module, std::unordered_map<Value const*, ValueFacts>& facts)
      : module_(module), facts_(facts) {}

  void run() {
    auto order = callees_first(module_);
    std::reverse(order.begin(), order.end());
    for (ir::Function* function : order) solve(*function);
  }

 private:
  // ---- lattice

  static ValueFacts unknown(ir::Type const& type) {
    ValueFacts result;
    result.axes.resize(static_cast<std::size_t>(axes_of(type)));
    if (!is_float(type.element())) {
      Range const range = full_range(type.element());
      result.min = range.min;
      result.max = range.max;
    }
    return result;
  }

  static ValueFacts uniform(ir::Type const& type, std::int64_t divisibility, Range range) {
    ValueFacts result;
    for (int i = 0; i < axes_of(type); ++i) result.axes.push_back({1, divisibility, extent_of(type, i)});
    result.min = range.min;
    result.max = range.max;
    return result;
  }

  static ValueFacts join(ValueFacts const& a, ValueFacts const& b) {
    ValueFacts result = a;
    for (std::size_t i = 0; i < a.axes.size(); ++i) {
      AxisFact& fact = result.axes[i];
      fact.contiguity = gcd(a.axes[i].contiguity, b.axes[i].contiguity);
      fact.divisibility = gcd(divisor_at(a.axes[i], fact.contiguity), divisor_at(b.axes[i], fact.contiguity));
      fact.constancy = gcd(a.axes[i].constancy, b.axes[i].constancy);
    }
    result.min = std::min(a.min, b.min);
    result.max = std::max(a.max, b.max);
    return result;
  }

  ValueFacts get(Value const& value) const {
    auto const found = facts_.find(&value);
    return found == facts_.end() ? unknown(value.type()) : found->second;
  }

  // ---- functions and blocks

  void solve(ir::Function const& function) {
    for (int i = 0; i < function.parameter_count(); ++i) {
      Value const& value = *function.parameter(i);
      if (!value.type().is_scalar() || is_float(value.type().element())) continue;
      if (!function.is_kernel() && facts_.count(&value) != 0) continue;  // joined over the callers, which came before
      ValueFacts facts = unknown(value.type());
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
        set(*op.result(), transfer(op));
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
    ValueFacts counter = unknown(ir::Type::index());
    counter.axes[0].divisibility = gcd(lower.axes[0].divisibility, step.axes[0].divisibility);
    counter.min = lower.min;
    counter.max = upper.max == lowest ? lowest : std::max(upper.max - 1, lower.min);
    facts_[loop.counter()] = counter;
    for (int i = 0; i < loop.count(); ++i) facts_[loop.carried(i)] = get(*loop.init(i));
    // Divisibility, contiguity and constancy only fall to divisors; ranges are widened at once. So this ends.
    for (bool changed = true; changed;) {
      changed = false;
      block(loop.body());
      for (int i = 0; i < loop.count(); ++i) {
        ValueFacts const before = get(*loop.carried(i));
        ValueFacts after = join(before, get(*loop.yielded(i)));
        Range const full = full_range(op.result(i)->type().element());
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
    Range range;
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
    if (!op->is<ir::CompareOp>() || !op->lhs()->type().is_scalar() || !is_integer(op->lhs()->type().element())) return;
    assume(*op->lhs(), op->as<ir::CompareOp>().predicate, *op->rhs());
    static constexpr ir::Predicate swapped[] = {ir::Predicate::eq, ir::Predicate::ne, ir::Predicate::gt,
                                                ir::Predicate::ge, ir::Predicate::lt, ir::Predicate::le};
    assume(*op->rhs(), swapped[static_cast<int>(op->as<ir::CompareOp>().predicate)], *op->lhs());
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

  // ---- ops

  ValueFacts transfer(Op const& op) const {
    ir::Type const& type = op.result()->type();
    switch (op.kind()) {
      case ir::OpKind::ConstantOp: {
        std::int64_t const value = ir::to_int(op.as<ir::ConstantOp>().value);
        return uniform(type, magnitude(value), {value, value});
      }
      case ir::OpKind::ExtentOp: {
        ir::Block const* const owner = op.operand()->owner_block();
        std::int64_t divisor = 1, max = greatest_extent;
        for (ir::Use const& use : op.operand()->uses())
          if (use.user->is<ir::TensorMapOp>()) max = tma_rule::max_extent;  // else the launch is refused
        if (owner != nullptr && owner->parent_function() != nullptr)
          divisor = owner->parent_function()
                        ->parameter_attributes()[static_cast<std::size_t>(op.operand()->index())]
                        .multiple_of;
        return uniform(type, divisor, {0, max});
      }
      case ir::OpKind::BlockIndexOp:
        return uniform(type, 1, {0, greatest_block});
      case ir::OpKind::GridExtentOp:
      case ir::OpKind::MultiprocessorsOp:
        return uniform(type, 1, {1, greatest_extent});
      case ir::OpKind::WarpIndexOp:
        return uniform(type, 1, {0, max_warps - 1});
      case ir::OpKind::IotaOp:
        return iota(type, static_cast<int>(op.as<ir::IotaOp>().axis));
      case ir::OpKind::SplatOp: {
        ValueFacts const scalar = get(*op.operand());
        return uniform(type, scalar.axes[0].divisibility, {scalar.min, scalar.max});
      }
      case ir::OpKind::BroadcastOp:
        return broadcast(op);
      case ir::OpKind::ExpandDimsOp:
        return expand_dims(op);
      case ir::OpKind::SqueezeOp:
        return squeeze(op);
      case ir::OpKind::TransOp:
        return trans(op);
      case ir::OpKind::ConvertLayoutOp:
        return get(*op.operand());
      case ir::OpKind::ReshapeOp:
      case ir::OpKind::ConcatenateOp:
      case ir::OpKind::ExtractOp:
        return regrouped(op);
      case ir::OpKind::AddOp:
        return add(op, false);
      case ir::OpKind::SubOp:
        return add(op, true);
      case ir::OpKind::MulOp:
        return mul(get(*op.lhs()), get(*op.rhs()), type);
      case ir::OpKind::ShlOp:
        return shl(op);
      case ir::OpKind::DivOp:
        return div(op, false);
      case ir::OpKind::CeilDivOp:
        return div(op, true);
      case ir::OpKind::RemOp:
        return rem(op);
      case ir::OpKind::MinOp:
        return extremum(op, true);
      case ir::OpKind::MaxOp:
        return extremum(op, false);
      case ir::OpKind::SelectOp:
        return select(op);
      case ir::OpKind::CompareOp:
        return compare(op);
      case ir::OpKind::CastOp:
        return cast(op);
      default:
        return elementwise(op);
    }
  }

  static ValueFacts iota(ir::Type const& type, int axis) {
    std::int64_t const extent = extent_of(type, axis);
    ValueFacts result = uniform(type, 1, {0, extent - 1});
    result.axes[static_cast<std::size_t>(axis)] = {extent, 0, 1};
    return result;
  }

  ValueFacts broadcast(Op const& op) const {
    ValueFacts result = get(*op.operand());
    for (int i = 0; i < op.result()->type().rank(); ++i)
      if (op.operand()->type().shape()[i] == 1)
        result.axes[static_cast<std::size_t>(i)].constancy = op.result()->type().shape()[i];
    return result;
  }

  ValueFacts expand_dims(Op const& op) const {
    ValueFacts result = get(*op.operand());
    AxisFact const added{1, result.divisor(), 1};
    for (std::int64_t const axis : op.as<ir::ExpandDimsOp>().axes)
      result.axes.insert(result.axes.begin() + axis, added);
    return result;
  }

  ValueFacts squeeze(Op const& op) const {
    ValueFacts result = get(*op.operand());
    auto const& axes = op.as<ir::SqueezeOp>().axes;
    for (int i = axes.size() - 1; i >= 0; --i) result.axes.erase(result.axes.begin() + axes[i]);
    return result;
  }

  ValueFacts trans(Op const& op) const {
    ValueFacts const from = get(*op.operand());
    ValueFacts result = from;
    auto const& permutation = op.as<ir::TransOp>().permutation;
    for (int i = 0; i < permutation.size(); ++i)
      result.axes[static_cast<std::size_t>(i)] = from.axes[static_cast<std::size_t>(permutation[i])];
    return result;
  }

  /// Keeps the range and the divisor of all elements; runs along axes are not followed.
  ValueFacts regrouped(Op const& op) const {
    ValueFacts result = unknown(op.result()->type());
    ValueFacts const first = get(*op.operand(0));
    result.min = first.min;
    result.max = first.max;
    std::int64_t divisor = first.divisor();
    for (int i = 1; i < op.operand_count(); ++i) {
      ValueFacts const other = get(*op.operand(i));
      result.min = std::min(result.min, other.min);
      result.max = std::max(result.max, other.max);
      divisor = gcd(divisor, other.divisor());
    }
    for (AxisFact& fact : result.axes) fact.divisibility = divisor;
    return result;
  }

  /// Sets the range; a result that may wrap keeps only facts that survive a wrap.
  static ValueFacts& ranged(ValueFacts& facts, std::pair<Range, bool> const& range) {
    facts.min = range.first.min;
    facts.max = range.first.max;
    if (range.second)
      for (AxisFact& fact : facts.axes) {
        fact.divisibility = power_of_two_part(fact.divisibility);
        if (fact.contiguity != power_of_two_part(fact.contiguity)) {
          fact.divisibility = gcd(fact.divisibility, power_of_two_part(fact.contiguity));
          fact.contiguity = power_of_two_part(fact.contiguity);
        }
      }
    return facts;
  }

  /// Tells whether a value is another one, or cut off by it, or counts up to it.
  static bool at_most(Value const& value, Value const& bound) {
    if (&value == &bound) return true;
    if (Op const* const op = value.defining_op(); op != nullptr)
      return op->is<ir::MinOp>() && (op->lhs() == &bound || op->rhs() == &bound);
    std::optional<ir::Loop> const loop = ir::Loop::counted_by(value);
    Op const* const last = bound.defined_by<ir::SubOp>();
    return loop && last != nullptr && last->lhs() == loop->upper() && ir::constant_int(*last->rhs()).value_or(2) <= 1;
  }

  ValueFacts add(Op const& op, bool minus) const {
    ValueFacts const a = get(*op.lhs()), b = get(*op.rhs());
    ValueFacts result = a;
    for (std::size_t i = 0; i < a.axes.size(); ++i) {
      AxisFact const& left = a.axes[i];
      AxisFact const& right = b.axes[i];
      std::int64_t run = gcd(left.contiguity, right.constancy);
      if (!minus) run = std::max(run, gcd(left.constancy, right.contiguity));
      result.axes[i] = {run, gcd(divisor_at(left, run), divisor_at(right, run)), gcd(left.constancy, right.constancy)};
    }
    Wide const min = minus ? Wide(a.min) - b.max : Wide(a.min) + b.min;
    Wide const max = minus ? Wide(a.max) - b.min : Wide(a.max) + b.max;
    if (minus && at_most(*op.rhs(), *op.lhs()))
      return ranged(result, range_of(std::max<Wide>(min, 0), max, op.result()->type().element()));
    return ranged(result, range_of(min, max, op.result()->type().element()));
  }

  static ValueFacts mul(ValueFacts const& a, ValueFacts const& b, ir::Type const& type) {
    ValueFacts result = a;
    for (std::size_t i = 0; i < a.axes.size(); ++i) {
      std::int64_t const left = divisor_at(a.axes[i], 1), right = divisor_at(b.axes[i], 1);
      Wide const both = Wide(left) * right;
      std::int64_t const product = both > max_divisibility ? std::max(left, right) : static_cast<std::int64_t>(both);
      result.axes[i] = {1, product, gcd(a.axes[i].constancy, b.axes[i].constancy)};
    }
    Wide const corners[] = {Wide(a.min) * b.min, Wide(a.min) * b.max, Wide(a.max) * b.min, Wide(a.max) * b.max};
    return ranged(result, range_of(*std::min_element(corners, corners + 4), *std::max_element(corners, corners + 4),
                                   type.element()));
  }

  ValueFacts shl(Op const& op) const {
    ValueFacts const amount = get(*op.rhs());
    if (!amount.is_constant() || amount.min < 0 || amount.min > 30) return elementwise(op);
    std::int64_t const factor = std::int64_t{1} << amount.min;
    return mul(get(*op.lhs()), uniform(op.result()->type(), factor, {factor, factor}), op.result()->type());
  }

  ValueFacts div(Op const& op, bool up) const {
    ValueFacts const a = get(*op.lhs()), b = get(*op.rhs());
    ValueFacts result = elementwise(op);
    if (b.min < 1 || a.min < 0) return result;
    Wide const extra = up ? b.min - 1 : 0;
    result.min = a.min > 0 && up ? 1 : static_cast<std::int64_t>(Wide(a.min) / b.max);
    result.max = static_cast<std::int64_t>((Wide(a.max) + extra) / b.min);
    if (!b.is_constant()) return result;
    std::int64_t const by = b.min;
    result.min = static_cast<std::int64_t>((Wide(a.min) + extra) / by);
    for (std::size_t i = 0; i < a.axes.size(); ++i) {
      AxisFact const& fact = a.axes[i];
      AxisFact& into = result.axes[i];
      std::int64_t const whole = divisor_at(fact, 1);
      if (whole % by == 0) into.divisibility = whole / by;
      if (!up && fact.divisibility % by == 0) into.constancy = std::max(into.constancy, gcd(fact.contiguity, by));
    }
    return result;
  }

  ValueFacts rem(Op const& op) const {
    ValueFacts const a = get(*op.lhs()), b = get(*op.rhs());
    ValueFacts result = elementwise(op);
    if (a.min >= 0) {  // whatever divides: the sign is that of the dividend
      result.min = 0;
      result.max = b.min < 1 ? a.max : std::min(a.max, b.max - 1);
    }
    if (!b.is_constant() || b.min < 1) return result;
    std::int64_t const by = b.min;
    for (std::size_t i = 0; i < a.axes.size(); ++i) {
      AxisFact const& fact = a.axes[i];
      bool const runs = a.min >= 0 && fact.divisibility % by == 0;
      std::int64_t const run = runs ? gcd(fact.contiguity, by) : 1;
      result.axes[i].contiguity = run;
      std::int64_t const first = divisor_at(fact, run);
      result.axes[i].divisibility = first % by == 0 ? 0 : gcd(first, by);
    }
    result.min = a.min < 0 ? -(by - 1) : 0;
    result.max = a.min >= 0 ? std::min(a.max, by - 1) : by - 1;
    return result;
  }

  ValueFacts extremum(Op const& op, bool min) const {
    ValueFacts const a = get(*op.lhs()), b = get(*op.rhs());
    ValueFacts result = elementwise(op);
    for (std::size_t i = 0; i < a.axes.size(); ++i)
      result.axes[i].divisibility = gcd(divisor_at(a.axes[i], 1), divisor_at(b.axes[i], 1));
    result.min = min ? std::min(a.min, b.min) : std::max(a.min, b.min);
    result.max = min ? std::min(a.max, b.max) : std::max(a.max, b.max);
    return result;
  }

  ValueFacts select(Op const& op) const {
    ValueFacts const condition = get(*op.in<ir::SelectOp>("condition")), a = get(*op.lhs()), b = get(*op.rhs());
    ValueFacts result = join(a, b);
    for (std::size_t i = 0; i < a.axes.size(); ++i) {
      AxisFact& fact = result.axes[i];
      std::int64_t const run = gcd(fact.contiguity, condition.axes[i].constancy);
      fact = {run, gcd(divisor_at(a.axes[i], run), divisor_at(b.axes[i], run)),
              gcd(fact.constancy, condition.axes[i].constancy)};
    }
    return result;
  }

  /// Handles comparisons: `col < n` is equal over runs when both sides are multiples of the run's length there.
  ValueFacts compare(Op const& op) const {
    ValueFacts result = elementwise(op);
    if (!is_integer(op.lhs()->type().element())) return result;
    ValueFacts const a = get(*op.lhs()), b = get(*op.rhs());
    Range const full = full_range(op.lhs()->type().element());
    auto const exact = [&](ValueFacts const& facts) { return facts.min > full.min && facts.max < full.max; };
    ir::Predicate const predicate = op.as<ir::CompareOp>().predicate;
    bool const less = predicate == ir::Predicate::lt || predicate == ir::Predicate::ge;
    bool const greater = predicate == ir::Predicate::gt || predicate == ir::Predicate::le;
    for (std::size_t i = 0; i < a.axes.size(); ++i) {
      auto const runs = [&](AxisFact const& running, AxisFact const& still) {
        std::int64_t const run = gcd(running.contiguity, still.constancy);
        return gcd(run, gcd(running.divisibility, divisor_at(still, run)));
      };
      if (less && exact(a)) result.axes[i].constancy = std::max(result.axes[i].constancy, runs(a.axes[i], b.axes[i]));
      if (greater && exact(b))
        result.axes[i].constancy = std::max(result.axes[i].constancy, runs(b.axes[i], a.axes[i]));
    }
    return result;
  }

  ValueFacts cast(Op const& op) const {
    ir::Type const& from = op.operand()->type();
    if (is_float(from.element())) return elementwise(op);
    ValueFacts result = get(*op.operand());
    Range const full = full_range(from.element());
    if (result.min == full.min || result.max == full.max)
      for (AxisFact& fact : result.axes) {  // runs modulo wrap: keep what cannot wrap inside
        std::int64_t const run = power_of_two_part(gcd(fact.contiguity, fact.divisibility));
        fact = {run, divisor_at(fact, run), fact.constancy};
      }
    ranged(result, range_of(result.min, result.max, op.result()->type().element()));
    if (from.element() == Element::boolean)
      for (AxisFact& fact : result.axes) fact.contiguity = fact.divisibility = 1;
    return result;
  }

  /// Handles any function of the operands, element by element: equal where all of them are.
  ValueFacts elementwise(Op const& op) const {
    ValueFacts result = unknown(op.result()->type());
    if (!op.info().has(ir::elementwise)) return result;
    for (std::size_t i = 0; i < result.axes.size(); ++i) {
      std::int64_t run = 0;
      for (Value const* operand : op.operands()) run = gcd(run, get(*operand).axes[i].constancy);
      result.axes[i].constancy = std::max<std::int64_t>(run, 1);
    }
    return result;
  }

  ir::Module const& module_;
  std::unordered_map<Value const*, ValueFacts>& facts_;
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
  result.axes.resize(static_cast<std::size_t>(axes_of(value.type())));
  return result;
}

std::string AxisFacts::str(ir::Function const& function) const {
  auto const names = ir::value_names(function);
  std::string text;
  auto const show = [&](Value const& value) {
    auto const found = facts_.find(&value);
    if (found == facts_.end() || is_float(value.type().element())) return;
    ValueFacts facts = found->second;
    Range const full = full_range(value.type().element());  // says nothing
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

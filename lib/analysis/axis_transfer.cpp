#include "analysis/axis_transfer.hpp"

#include <algorithm>
#include <numeric>
#include <optional>

#include "ir/core/builder.hpp"
#include "ir/core/loop.hpp"
#include "ir/core/match.hpp"
#include "ir/memory/accesses.hpp"
#include "ir/memory/source.hpp"
#include "support/wide_integer.hpp"
#include "tegula/target/tma_rules.hpp"

namespace tegula::analysis {
namespace {

using ir::Op;
using ir::Value;
using support::Int128;

constexpr std::int64_t max_divisibility = std::int64_t{1} << 40;

std::int64_t power_of_two_part(std::int64_t value) { return value == 0 ? 0 : value & -value; }
std::int64_t magnitude(std::int64_t value) {
  return value == std::numeric_limits<std::int64_t>::min() ? std::int64_t{1} << 62 : value < 0 ? -value : value;
}

IntegerRange range_of(ValueFacts const& facts) { return {facts.min, facts.max}; }

/// Holds a rule for each op or family of ops.
class Transfer {
 public:
  explicit Transfer(FactMap const& known) : known_(known) {}

  ValueFacts of(Op const& op) const {
    ir::Type const& type = op.result()->type();
    bool const by_size =
        op.is<ir::DivOp>() || op.is<ir::RemOp>() || op.is<ir::CeilDivOp>() || op.is<ir::MinOp>() || op.is<ir::MaxOp>();
    if (by_size && type.element() == Element::u64) return elementwise(op);
    if (ir::moves_elements(op)) return moved(op);
    if (op.is<ir::ExtentOp>()) return extent(op);
    if (auto const number = ir::source_range(op.kind())) return uniform_facts(type, 1, *number);
    auto const found = ir::match<std::optional<ValueFacts>>(
        op, ir::on<ir::ConstantOp>([&] {
          std::int64_t const value = ir::to_int(op.as<ir::ConstantOp>().value);
          return uniform_facts(type, magnitude(value), {value, value});
        }),
        ir::on<ir::IotaOp>([&] { return iota(type, static_cast<int>(op.as<ir::IotaOp>().axis)); }),
        ir::on<ir::AddOp>([&] { return add(op, false); }), ir::on<ir::SubOp>([&] { return add(op, true); }),
        ir::on<ir::MulOp>([&] { return mul(get(*op.lhs()), get(*op.rhs()), type); }),
        ir::on<ir::ShlOp>([&] { return shl(op); }), ir::on<ir::DivOp>([&] { return div(op, false); }),
        ir::on<ir::CeilDivOp>([&] { return div(op, true); }), ir::on<ir::RemOp>([&] { return rem(op); }),
        ir::on<ir::MinOp, ir::MaxOp>([&] { return extremum(op); }), ir::on<ir::SelectOp>([&] { return select(op); }),
        ir::on<ir::CompareOp>([&] { return compare(op); }), ir::on<ir::CastOp>([&] { return cast(op); }));
    return found ? *found : elementwise(op);
  }

 private:
  [[nodiscard]] ValueFacts get(Value const& value) const { return facts_in(known_, value); }

  /// Tells whether a tensor, or one that exchanges its axes, has a map.
  static bool has_map(Value const& tensor) {
    return std::any_of(tensor.uses().begin(), tensor.uses().end(), [](ir::Use const& use) {
      return use.user->is<ir::TensorMapOp>() || (use.user->is<ir::PermuteOp>() && has_map(*use.user->result()));
    });
  }

  static ValueFacts extent(Op const& op) {
    std::int64_t max = max_tensor_extent;
    // A tensor with a map has no larger extents, else the launch is refused; nor has a slice of it.
    for (ir::Value const* tensor = op.operand(); tensor != nullptr;) {
      if (has_map(*tensor)) max = tma_rule::max_extent;
      Op const* const view = ir::view_op(*tensor);
      tensor = view == nullptr ? nullptr : view->in("tensor");
    }
    return uniform_facts(op.result()->type(), ir::multiple_of_extent(*op.operand(), op.as<ir::ExtentOp>().axis),
                         {0, max});
  }

  static ValueFacts iota(ir::Type const& type, int axis) {
    std::int64_t const extent = fact_extent(type, axis);
    ValueFacts result = uniform_facts(type, 1, {0, extent - 1});
    result.axes[static_cast<std::size_t>(axis)] = {extent, 0, 1};
    return result;
  }

  /// Follows the runs along the axes of a relabelled operand; an axis without source is equal along its extent.
  ValueFacts moved(Op const& op) const {
    if (!ir::relabels(op)) return regrouped(op);
    ir::Type const &from = op.operand()->type(), &to = op.result()->type();
    ValueFacts const facts = get(*op.operand());
    if (!from.is_tile()) return uniform_facts(to, facts.axes[0].divisibility, {facts.min, facts.max});
    ir::SourcePart const part = ir::source(op).parts[0];
    ValueFacts result = facts;
    result.axes.clear();
    for (int axis = 0; axis < to.rank(); ++axis) {
      int const own = ir::operand_axis(part, axis);
      if (own >= 0) {
        result.axes.push_back(facts.axes[static_cast<std::size_t>(own)]);
        continue;
      }
      // A repeated axis has the facts of the operand's axis of extent 1 at its place.
      bool const same_rank = from.rank() == to.rank() && from.shape()[axis] == 1;
      AxisFact fact = same_rank ? facts.axes[static_cast<std::size_t>(axis)] : AxisFact{1, facts.divisor(), 1};
      fact.constancy = to.shape()[axis];
      result.axes.push_back(fact);
    }
    return result;
  }

  /// Keeps the range and the divisor of all elements; runs along axes are not followed.
  ValueFacts regrouped(Op const& op) const {
    ValueFacts result = unknown_facts(op.result()->type());
    if (ir::source(op).partial) return result;
    ValueFacts const first = get(*op.operand(0));
    result.min = first.min;
    result.max = first.max;
    std::int64_t divisor = first.divisor();
    for (int i = 1; i < op.operand_count(); ++i) {
      ValueFacts const other = get(*op.operand(i));
      result.min = std::min(result.min, other.min);
      result.max = std::max(result.max, other.max);
      divisor = std::gcd(divisor, other.divisor());
    }
    for (AxisFact& fact : result.axes) fact.divisibility = divisor;
    return result;
  }

  /// Sets the range; a result that may wrap keeps only facts that survive a wrap.
  static ValueFacts& ranged(ValueFacts& facts, ir::ResultRange const& result) {
    facts.min = result.range.min;
    facts.max = result.range.max;
    if (result.may_wrap)
      for (AxisFact& fact : facts.axes) {
        fact.divisibility = power_of_two_part(fact.divisibility);
        if (fact.contiguity != power_of_two_part(fact.contiguity)) {
          fact.divisibility = std::gcd(fact.divisibility, power_of_two_part(fact.contiguity));
          fact.contiguity = power_of_two_part(fact.contiguity);
        }
      }
    return facts;
  }

  static void set_range(ValueFacts& facts, ir::OpKind kind, ValueFacts const& a, ValueFacts const& b, Element element) {
    IntegerRange const range = ir::arithmetic_range(kind, range_of(a), range_of(b), element).range;
    facts.min = range.min;
    facts.max = range.max;
  }

  /// Returns the number of values that a value counts: those of a loop from its start, blocks of an axis of the grid.
  static Value const* count_of(Value const& value) {
    if (std::optional<ir::Loop> const loop = ir::Loop::counted_by(value)) return loop->upper();
    Op const* const index = value.defined_by<ir::BlockIndexOp>();
    ir::Function const* const function = index == nullptr ? nullptr : index->function();
    if (function == nullptr) return nullptr;
    for (Op const& op : function->body())
      if (op.is<ir::GridOp>()) {
        auto const axis = static_cast<int>(index->as<ir::BlockIndexOp>().axis);
        return axis < op.operand_count() ? op.operand(axis) : nullptr;
      }
    return nullptr;
  }

  /// Tells whether two values are one, or one value with the same number added or taken away.
  static bool is_same(Value const& a, Value const& b) {
    auto const parts = [](Value const& of) {
      Op const* const op = of.defining_op();
      bool const moves = op != nullptr && (op->is<ir::AddOp>() || op->is<ir::SubOp>());
      auto const number = moves ? ir::constant_int(*op->rhs()) : std::nullopt;
      if (!number) return std::pair{&of, Int128(0)};
      return std::pair{static_cast<Value const*>(op->lhs()), op->is<ir::AddOp>() ? Int128(*number) : -Int128(*number)};
    };
    return parts(a) == parts(b);
  }

  /// Tells whether a value is another one, or cut off by it, or counts up to it.
  static bool at_most(Value const& value, Value const& bound) {
    if (is_same(value, bound)) return true;
    if (Op const* const op = value.defined_by<ir::MinOp>())
      return is_same(*op->lhs(), bound) || is_same(*op->rhs(), bound);
    Op const* const last = bound.defining_op();
    if (last == nullptr || !(last->is<ir::SubOp>() || last->is<ir::AddOp>()) || last->lhs() != count_of(value))
      return false;
    auto const moved = ir::constant_int(*last->rhs());
    return moved && (last->is<ir::SubOp>() ? *moved <= 1 : *moved >= -1);
  }

  ValueFacts add(Op const& op, bool minus) const {
    ValueFacts const a = get(*op.lhs()), b = get(*op.rhs());
    ValueFacts result = a;
    for (std::size_t i = 0; i < a.axes.size(); ++i) {
      AxisFact const& left = a.axes[i];
      AxisFact const& right = b.axes[i];
      std::int64_t run = std::gcd(left.contiguity, right.constancy);
      if (!minus) run = std::max(run, std::gcd(left.constancy, right.contiguity));
      result.axes[i] = {run, std::gcd(divisor_at(left, run), divisor_at(right, run)),
                        std::gcd(left.constancy, right.constancy)};
    }
    Element const element = op.result()->type().element();
    ir::ResultRange range = ir::arithmetic_range(op.kind(), range_of(a), range_of(b), element);
    // The exact difference is 0 or more, whatever the ranges say. It may still be too large.
    Int128 const max = Int128(a.max) - b.min;
    if (minus && ir::has_known_order(element) && max <= ir::full_range(element).max && at_most(*op.rhs(), *op.lhs()))
      range = {{range.may_wrap ? 0 : std::max<std::int64_t>(0, range.range.min), static_cast<std::int64_t>(max)}};
    return ranged(result, range);
  }

  static ValueFacts mul(ValueFacts const& a, ValueFacts const& b, ir::Type const& type) {
    ValueFacts result = a;
    for (std::size_t i = 0; i < a.axes.size(); ++i) {
      std::int64_t const left = divisor_at(a.axes[i], 1), right = divisor_at(b.axes[i], 1);
      Int128 const both = Int128(left) * right;
      std::int64_t const product = both > max_divisibility ? std::max(left, right) : static_cast<std::int64_t>(both);
      result.axes[i] = {1, product, std::gcd(a.axes[i].constancy, b.axes[i].constancy)};
    }
    return ranged(result, ir::arithmetic_range(ir::OpKind::MulOp, range_of(a), range_of(b), type.element()));
  }

  ValueFacts shl(Op const& op) const {
    ValueFacts const amount = get(*op.rhs());
    if (!amount.is_constant() || amount.min < 0 || amount.min > 30) return elementwise(op);
    std::int64_t const factor = std::int64_t{1} << amount.min;
    return mul(get(*op.lhs()), uniform_facts(op.result()->type(), factor, {factor, factor}), op.result()->type());
  }

  ValueFacts div(Op const& op, bool up) const {
    ValueFacts const a = get(*op.lhs()), b = get(*op.rhs());
    ValueFacts result = elementwise(op);
    if (b.min < 0 || a.min < 0) return result;
    set_range(result, op.kind(), a, b, op.result()->type().element());
    if (!b.is_constant() || b.min < 1) return result;
    std::int64_t const by = b.min;
    for (std::size_t i = 0; i < a.axes.size(); ++i) {
      AxisFact const& fact = a.axes[i];
      AxisFact& into = result.axes[i];
      std::int64_t const whole = divisor_at(fact, 1);
      if (whole % by == 0) into.divisibility = whole / by;
      if (!up && fact.divisibility % by == 0) into.constancy = std::max(into.constancy, std::gcd(fact.contiguity, by));
    }
    return result;
  }

  ValueFacts rem(Op const& op) const {
    ValueFacts const a = get(*op.lhs()), b = get(*op.rhs());
    ValueFacts result = elementwise(op);
    set_range(result, op.kind(), a, b, op.result()->type().element());
    if (!b.is_constant() || b.min < 1) return result;
    std::int64_t const by = b.min;
    for (std::size_t i = 0; i < a.axes.size(); ++i) {
      AxisFact const& fact = a.axes[i];
      bool const runs = a.min >= 0 && fact.divisibility % by == 0;
      std::int64_t const run = runs ? std::gcd(fact.contiguity, by) : 1;
      result.axes[i].contiguity = run;
      std::int64_t const first = divisor_at(fact, run);
      result.axes[i].divisibility = first % by == 0 ? 0 : std::gcd(first, by);
    }
    return result;
  }

  ValueFacts extremum(Op const& op) const {
    ValueFacts const a = get(*op.lhs()), b = get(*op.rhs());
    ValueFacts result = elementwise(op);
    for (std::size_t i = 0; i < a.axes.size(); ++i)
      result.axes[i].divisibility = std::gcd(divisor_at(a.axes[i], 1), divisor_at(b.axes[i], 1));
    set_range(result, op.kind(), a, b, op.result()->type().element());
    return result;
  }

  ValueFacts select(Op const& op) const {
    ValueFacts const condition = get(*op.in<ir::SelectOp>("condition")), a = get(*op.lhs()), b = get(*op.rhs());
    ValueFacts result = join(a, b);
    for (std::size_t i = 0; i < a.axes.size(); ++i) {
      AxisFact& fact = result.axes[i];
      std::int64_t const run = std::gcd(fact.contiguity, condition.axes[i].constancy);
      fact = {run, std::gcd(divisor_at(a.axes[i], run), divisor_at(b.axes[i], run)),
              std::gcd(fact.constancy, condition.axes[i].constancy)};
    }
    return result;
  }

  /// Handles comparisons: `col < n` is equal over runs when both sides are multiples of the run's length there.
  ValueFacts compare(Op const& op) const {
    ValueFacts result = elementwise(op);
    if (!ir::has_known_order(op.lhs()->type().element())) return result;
    ValueFacts const a = get(*op.lhs()), b = get(*op.rhs());
    IntegerRange const full = ir::full_range(op.lhs()->type().element());
    auto const exact = [&](ValueFacts const& facts) { return facts.min > full.min && facts.max < full.max; };
    ir::Predicate const predicate = op.as<ir::CompareOp>().predicate;
    bool const less = predicate == ir::Predicate::lt || predicate == ir::Predicate::ge;
    bool const greater = predicate == ir::Predicate::gt || predicate == ir::Predicate::le;
    for (std::size_t i = 0; i < a.axes.size(); ++i) {
      auto const runs = [&](AxisFact const& running, AxisFact const& still) {
        std::int64_t const run = std::gcd(running.contiguity, still.constancy);
        return std::gcd(run, std::gcd(running.divisibility, divisor_at(still, run)));
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
    IntegerRange const full = ir::full_range(from.element());
    if (result.min == full.min || result.max == full.max)
      for (AxisFact& fact : result.axes) {  // runs modulo wrap: keep what cannot wrap inside
        std::int64_t const run = power_of_two_part(std::gcd(fact.contiguity, fact.divisibility));
        fact = {run, divisor_at(fact, run), fact.constancy};
      }
    ranged(result, ir::cast_range(range_of(result), op.result()->type().element()));
    if (from.element() == Element::boolean)
      for (AxisFact& fact : result.axes) fact.contiguity = fact.divisibility = 1;
    return result;
  }

  /// Handles any function of the operands, element by element: equal where all of them are.
  ValueFacts elementwise(Op const& op) const {
    ValueFacts result = unknown_facts(op.result()->type());
    if (!op.is(ir::Family::elementwise)) return result;
    for (std::size_t i = 0; i < result.axes.size(); ++i) {
      std::int64_t run = 0;
      for (Value const* operand : op.operands()) run = std::gcd(run, get(*operand).axes[i].constancy);
      result.axes[i].constancy = std::max<std::int64_t>(run, 1);
    }
    return result;
  }

  FactMap const& known_;
};

}  // namespace

ValueFacts transfer(Op const& op, FactMap const& known) { return Transfer(known).of(op); }

}  // namespace tegula::analysis

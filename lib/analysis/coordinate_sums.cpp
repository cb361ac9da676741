#include "analysis/coordinate_sums.hpp"

#include <algorithm>

#include "ir/core/builder.hpp"
#include "ir/values/integer_range.hpp"
#include "support/checked_integer.hpp"
#include "support/wide_integer.hpp"

namespace tegula::analysis {

using ir::Op;
using ir::Value;
using support::Checked;
using support::Int128;

namespace {

/// Numbers beyond that are none of coordinates; sums of a few others fit 64 bits.
constexpr std::int64_t greatest_number = std::int64_t{1} << 56;
constexpr std::size_t max_terms = 32;

/// Computes a + times * b.
std::optional<CoordinateSum> plus(CoordinateSum a, CoordinateSum const& b, std::int64_t times) {
  bool good = true;
  auto const add = [&](std::int64_t& to, std::int64_t number) {
    Checked const sum = Checked(times) * number + to;
    good = good && sum.within(greatest_number);
    to = sum.value();
  };
  add(a.min, times > 0 ? b.min : b.max);
  add(a.max, times > 0 ? b.max : b.min);
  add(a.factor, b.factor);
  for (auto const& [value, factor] : b.terms) {
    auto same = std::find_if(a.terms.begin(), a.terms.end(),
                             [scalar = value](auto const& term) { return term.first == scalar; });
    if (same == a.terms.end()) same = a.terms.insert(same, {value, 0});
    add(same->second, factor);
  }
  std::erase_if(a.terms, [](auto const& term) { return term.second == 0; });
  if (!good || a.terms.size() > max_terms) return std::nullopt;
  return a;
}

bool is_number(ir::Type const& type) {
  return (type.is_scalar() || type.is_tile()) && is_integer(type.element()) && !is_wide_unsigned(type.element());
}

/// Tells whether every number of an integer element is one of another.
bool keeps_numbers(Element from, Element to) {
  if (is_signed(from)) return is_signed(to) && bits(to) >= bits(from);
  return bits(to) >= bits(from) + (is_signed(to) ? 1 : 0);
}

std::optional<CoordinateSum> number(std::int64_t value) {
  if (!Checked(value).within(greatest_number)) return std::nullopt;
  return CoordinateSum{value, value, 0, {}};
}

}  // namespace

std::optional<CoordinateSum> const& CoordinateSums::sum(Value& value) {
  auto const needs = [&](Value const& at, auto const& visit) {
    bool const ends = at.type().is_scalar() && (&at == leaves_.index || leaves_.is_scalar(at));
    if (!ends && is_number(at.type())) ir::operands_of(at, visit);
  };
  return sums_.of(value, needs, [&](Value const& at) { return computed(const_cast<Value&>(at)); });
}

bool CoordinateSums::is_large(Value const& value) const {
  ValueFacts const facts = facts_.facts(value);
  return !ir::IntegerRange{facts.min, facts.max}.within(ComparedSum::large_number);
}

bool CoordinateSums::is_within(CoordinateSum const& sum, std::int64_t limit) const {
  constexpr std::int64_t large = ComparedSum::large_number;
  Int128 min = sum.min, max = sum.max;
  auto const add = [&](Int128 factor, std::int64_t low, std::int64_t high) {
    min += factor * (factor > 0 ? low : high);
    max += factor * (factor > 0 ? high : low);
  };
  for (auto const& [value, factor] : sum.terms) {
    ValueFacts const facts = facts_.facts(*value);
    add(factor, std::max(facts.min, -large), std::min(facts.max, large));
  }
  if (sum.factor != 0) {
    ValueFacts const facts = facts_.facts(*leaves_.index);
    add(sum.factor, facts.min, facts.max);
  }
  return min >= -limit && max <= limit;
}

bool CoordinateSums::stays_in_range(CoordinateSum const& sum, Element element) const {
  if (bits(element) >= 64) return true;
  Int128 const end = Int128{1} << (bits(element) - 1);
  Int128 min = sum.min, max = sum.max;
  for (auto const& [value, factor] : sum.terms) {
    ValueFacts const facts = facts_.facts(*value);
    Int128 const own = Int128{1} << (bits(value->type().element()) - 1);
    Int128 const low = std::max<Int128>(facts.min, -own), high = std::min<Int128>(facts.max, own - 1);
    min += factor * (factor > 0 ? low : high);
    max += factor * (factor > 0 ? high : low);
  }
  if (sum.factor != 0) {
    ValueFacts const facts = facts_.facts(*leaves_.index);
    min += Int128(sum.factor) * (sum.factor > 0 ? facts.min : facts.max);
    max += Int128(sum.factor) * (sum.factor > 0 ? facts.max : facts.min);
  }
  return min >= -end && max < end;
}

std::optional<CoordinateSum> CoordinateSums::computed(Value& value) const {
  Element const element = value.type().element();
  if (!is_number(value.type())) return std::nullopt;
  if (value.type().is_scalar()) {
    if (&value == leaves_.index) return CoordinateSum{0, 0, 1, {}};
    if (auto const constant = ir::constant_int(value)) return number(*constant);
    if (leaves_.is_scalar(value)) return CoordinateSum{0, 0, 0, {{&value, 1}}};
  }
  Op const* const op = value.defining_op();
  if (op == nullptr) return std::nullopt;
  if (op->is<ir::ConstantOp>()) return number(ir::to_int(op->as<ir::ConstantOp>().value));
  if (op->is<ir::IotaOp>()) return CoordinateSum{0, value.type().shape()[op->as<ir::IotaOp>().axis] - 1, 0, {}};
  bool const widens = op->is<ir::CastOp>() && keeps_numbers(op->operand()->type().element(), element);
  if ((op->info().has(ir::rearranges) && op->operand_count() == 1) || widens) return sums_.at(*op->operand());
  bool const narrows = op->is<ir::CastOp>() && is_number(op->operand()->type());
  std::optional<CoordinateSum> const result = narrows ? sums_.at(*op->operand()) : combined(*op);
  return result && stays_in_range(*result, element) ? result : std::nullopt;
}

/// Combines the sums of the operands of a sum, a difference or a product with a constant.
std::optional<CoordinateSum> CoordinateSums::combined(Op const& op) const {
  if (op.is<ir::AddOp>() || op.is<ir::SubOp>()) {
    auto const &left = sums_.at(*op.lhs()), &right = sums_.at(*op.rhs());
    return left && right ? plus(*left, *right, op.is<ir::AddOp>() ? 1 : -1) : std::nullopt;
  }
  if (!op.is<ir::MulOp>()) return std::nullopt;
  auto const times = [&](ir::Value const& number, ir::Value& other) -> std::optional<CoordinateSum> {
    auto const factor = ir::constant_int(number);
    auto const& scaled = sums_.at(other);
    return factor && scaled ? plus({}, *scaled, *factor) : std::nullopt;
  };
  auto const scaled = times(*op.lhs(), *op.rhs());
  return scaled ? scaled : times(*op.rhs(), *op.lhs());
}

/// Tells whether a side is a large scalar by itself, and the other side is small: then it decides alone.
bool CoordinateSums::decides_alone(CoordinateSum const& side, CoordinateSum const& other) const {
  bool const alone = side.terms.size() == 1 && side.factor == 0 && side.min == 0 && side.max == 0;
  return alone && side.terms[0].second == 1 && is_within(other, ComparedSum::large_number / 2) &&
         std::none_of(other.terms.begin(), other.terms.end(), [&](auto const& term) { return is_large(*term.first); });
}

std::optional<ComparedSum> CoordinateSums::compared(Op const& compare) {
  using ir::Predicate;
  // Sums of that size add up in 64 bits.
  constexpr std::int64_t limit = std::int64_t{1} << 62;
  Predicate const predicate = compare.as<ir::CompareOp>().predicate;
  bool const turned = predicate == Predicate::gt || predicate == Predicate::ge;
  if (predicate == Predicate::eq || predicate == Predicate::ne) return std::nullopt;
  auto const left = sum(turned ? *compare.rhs() : *compare.lhs());
  auto const right = sum(turned ? *compare.lhs() : *compare.rhs());
  if (!left || !right || !is_within(*left, limit) || !is_within(*right, limit)) return std::nullopt;
  auto const difference = plus(*left, *right, -1);
  if (!difference || !is_within(*difference, limit)) return std::nullopt;
  ComparedSum result{*difference, {}, {}};
  if (predicate == Predicate::le || predicate == Predicate::ge) --result.max;

  bool const decided = decides_alone(*left, *right) || decides_alone(*right, *left);
  for (CoordinateSum const* side : {&*left, &*right})
    for (auto const& [value, factor] : side->terms) {
      if (!is_large(*value) || std::find(result.large.begin(), result.large.end(), value) != result.large.end())
        continue;
      result.large.push_back(value);
      if (!decided) result.checked.push_back(value);
    }
  return result;
}

}  // namespace tegula::analysis

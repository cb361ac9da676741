#include "analysis/conditions.hpp"

#include <algorithm>
#include <optional>

#include "analysis/shared_accesses.hpp"
#include "ir/core/loop.hpp"

namespace tegula::analysis {

using namespace ir;

namespace {

constexpr int max_depth = 8;

/// Returns the sum that is above 0 where an if enters its then block, or a for runs an iteration.
std::optional<Affine> above_zero(Op const& control, Affines& affines) {
  auto const difference = [&](Value const& high, Value const& low) { return affines.of(high) + affines.of(low) * -1; };
  if (control.is<ForOp>()) return difference(*Loop(control).upper(), *Loop(control).lower());
  Op const* const test = control.is<IfOp>() ? control.in<IfOp>("condition")->defined_by<CompareOp>() : nullptr;
  if (test == nullptr || test->lhs()->type() != Type::index()) return std::nullopt;
  Value const &left = *test->lhs(), &right = *test->rhs();
  Affine const one{1, {}};
  switch (test->as<CompareOp>().predicate) {
    case Predicate::gt:
      return difference(left, right);
    case Predicate::ge:
      return difference(left, right) + one;
    case Predicate::lt:
      return difference(right, left);
    case Predicate::le:
      return difference(right, left) + one;
    case Predicate::eq:
    case Predicate::ne:
      break;
  }
  return std::nullopt;
}

std::int64_t min_of(Affine const& sum, Affines& affines) {
  Range range{sum.constant, sum.constant};
  for (auto const& [value, factor] : sum.terms) range = range + affines.range_of_term(*value) * factor;
  return sum.fits ? range.low : -Range::far;
}

/// Replaces maxima by the operand that is the greater one where `positive` is above 0.
Affine without_maxima(Affine const& sum, Affine const& positive, Affines& affines) {
  Affine result = sum;
  for (auto const& [value, factor] : sum.terms) {
    Op const* const max = value->defined_by<MaxOp>();
    if (max == nullptr) continue;
    for (bool const left : {true, false}) {
      Affine const &greater = affines.of(left ? *max->lhs() : *max->rhs()),
                   &other = affines.of(left ? *max->rhs() : *max->lhs());
      if (min_of(greater + other * -1 + positive * -1, affines) < -1) continue;
      result = result + Affine{0, {{value, -factor}}} + greater * factor;
      break;
    }
  }
  return result;
}

/// Tells whether a number may differ between iterations of a loop.
bool varies(Value const& value, Op const& loop, int depth = 0) {
  if (!is_inside(value, loop)) return false;
  Op const* const op = value.defining_op();
  if (op == nullptr || !op->pure() || op->block_count() > 0 || depth > max_depth) return true;
  return std::any_of(op->operands().begin(), op->operands().end(),
                     [&](Value const* operand) { return varies(*operand, loop, depth + 1); });
}

}  // namespace

bool implies(Op const& control, Op const& other, Affines& affines) {
  auto const sum = above_zero(control, affines);
  auto const larger = sum ? above_zero(other, affines) : std::nullopt;
  if (!larger) return false;
  Affine const there = without_maxima(*larger, *sum, affines);
  return min_of(there, affines) > 0 || min_of(there + *sum * -1, affines) >= 0;
}

bool keeps(Op const& control, Op const& loop) {
  if (control.is<IfOp>()) return !varies(*control.in<IfOp>("condition"), loop);
  return control.is<ForOp>() && !varies(*Loop(control).lower(), loop) && !varies(*Loop(control).upper(), loop);
}

}  // namespace tegula::analysis

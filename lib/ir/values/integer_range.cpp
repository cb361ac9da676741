#include "ir/values/integer_range.hpp"

#include <algorithm>

#include "ir/core/op_info.hpp"
#include "support/wide_integer.hpp"

namespace tegula::ir {
namespace {

using support::Int128;

/// Returns the range of exact results, or the element's whole range if a result may wrap.
ResultRange exact(Int128 min, Int128 max, Element element) {
  IntegerRange const full = full_range(element);
  if (min < full.min || max > full.max) return {full, true};
  return {{static_cast<std::int64_t>(min), static_cast<std::int64_t>(max)}, false};
}

ResultRange product(IntegerRange a, IntegerRange b, Element element) {
  auto const [min, max] =
      std::minmax({Int128(a.min) * b.min, Int128(a.min) * b.max, Int128(a.max) * b.min, Int128(a.max) * b.max});
  return exact(min, max, element);
}

IntegerRange quotient(IntegerRange a, IntegerRange b, bool up, IntegerRange full) {
  if (b.min < 0 || a.min < 0) return full;
  if (b.min == 0) return {0, a.max};  // by 0 it is 0
  Int128 const extra = up ? b.min - 1 : 0;
  Int128 const min = b.min == b.max ? (Int128(a.min) + extra) / b.min : a.min > 0 && up ? 1 : a.min / b.max;
  return {static_cast<std::int64_t>(min), static_cast<std::int64_t>((Int128(a.max) + extra) / b.min)};
}

IntegerRange remainder(IntegerRange a, IntegerRange b, IntegerRange full) {
  bool const constant = b.min == b.max && b.min >= 1;
  // For any divisor: the sign is that of the dividend.
  if (a.min >= 0) return {0, b.min < 1 ? a.max : std::min(a.max, b.max - 1)};
  return constant ? IntegerRange{-(b.min - 1), b.min - 1} : full;
}

/// Returns the range of a step whose result follows from the order of its operands; of others the whole range.
IntegerRange range_by_order(LaunchOp step, IntegerRange a, IntegerRange b, IntegerRange full) {
  if (step == LaunchOp::div) return quotient(a, b, false, full);
  if (step == LaunchOp::ceil_div) return quotient(a, b, true, full);
  if (step == LaunchOp::rem) return remainder(a, b, full);
  if (step == LaunchOp::min) return {std::min(a.min, b.min), std::min(a.max, b.max)};
  if (step == LaunchOp::max) return {std::max(a.min, b.min), std::max(a.max, b.max)};
  return full;
}

}  // namespace

bool has_known_order(Element element) { return is_integer(element) && element != Element::u64; }

IntegerRange full_range(Element element) {
  if (element == Element::boolean) return {0, 1};
  if (has_known_order(element)) return {min_integer(element), max_integer(element)};
  return {};
}

std::optional<IntegerRange> source_range(OpKind kind) {
  std::optional<Bounds> const number = op_info(kind).number;
  return number ? std::optional(IntegerRange{number->min, number->max}) : std::nullopt;
}

ResultRange arithmetic_range(OpKind kind, IntegerRange a, IntegerRange b, Element element) {
  IntegerRange const full = full_range(element);
  std::optional<LaunchOp> const step = op_info(kind).launch;
  if (!step) return {full};
  if (*step == LaunchOp::add) return exact(Int128(a.min) + b.min, Int128(a.max) + b.max, element);
  if (*step == LaunchOp::sub) return exact(Int128(a.min) - b.max, Int128(a.max) - b.min, element);
  if (*step == LaunchOp::mul) return product(a, b, element);
  return {has_known_order(element) ? range_by_order(*step, a, b, full) : full};
}

IntegerRange counter_range(IntegerRange lower, IntegerRange upper, IntegerRange step) {
  Int128 const reached = lower.max + Int128(max_iterations) * std::max<std::int64_t>(step.max, 1);
  Int128 const last = std::min({Int128(upper.max) - 1, reached, Int128(IntegerRange().max)});
  return {lower.min, static_cast<std::int64_t>(std::max<Int128>(last, lower.min))};
}

ResultRange cast_range(IntegerRange from, Element to) { return exact(from.min, from.max, to); }

}  // namespace tegula::ir

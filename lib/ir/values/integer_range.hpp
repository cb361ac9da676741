// Computes ranges of integers: of the sources of indices, and of arithmetic on ranges that are known.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>

#include "tegula/abi/limits.hpp"
#include "tegula/ir/op_kind.hpp"
#include "tegula/support/element.hpp"

namespace tegula::ir {

/// Holds the least and the greatest of some integers; both belong to them. The default says nothing.
struct IntegerRange {
  std::int64_t min = std::numeric_limits<std::int64_t>::min();
  std::int64_t max = std::numeric_limits<std::int64_t>::max();

  /// Tells whether all integers are at most `limit` away from 0.
  [[nodiscard]] constexpr bool within(std::int64_t limit) const { return min >= -limit && max <= limit; }
  friend constexpr bool operator==(IntegerRange, IntegerRange) = default;
};

/// Bounds the iterations of a loop: so many take weeks, at a nanosecond each.
inline constexpr std::int64_t max_iterations = std::int64_t{1} << 52;

/// Tells whether ranges compare integers of an element as they are: those of u64 they hold as bits.
bool has_known_order(Element element);
/// Returns all integers that the element holds; for a float, and for u64, all of 64 bits.
IntegerRange full_range(Element element);

/// Returns the range of an op without operands, or with a tensor, that makes an index (its `number`); else nothing.
std::optional<IntegerRange> source_range(OpKind kind);

/// Holds the range of a result, and whether the result may wrap; a result that may wrap has the element's full range.
struct ResultRange {
  IntegerRange range;
  bool may_wrap = false;
};

/// Returns the range of arithmetic on integers of an element (add, sub, mul, div, ceil_div, rem, min, max) whose
/// operands lie in ranges. Other ops, floats and orders that are not known have the full range.
ResultRange arithmetic_range(OpKind kind, IntegerRange a, IntegerRange b, Element element);

/// Returns the range of the counter of a loop, in iterations that can be reached.
IntegerRange counter_range(IntegerRange lower, IntegerRange upper, IntegerRange step);

/// Returns the range of a number that is cast from an integer of a range.
ResultRange cast_range(IntegerRange from, Element to);

}  // namespace tegula::ir

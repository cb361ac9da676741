// Tells which numbers a floating element holds, and how an integer is rounded to one without rounding twice.
#pragma once

#include <cstdint>

#include "tegula/support/half.hpp"

namespace tegula::support {

/// Holds the maximum of a floating element, and the smallest number that would be rounded to something above it.
struct FloatRange {
  double max;
  long double beyond;
};

constexpr FloatRange float_range(Element element) {
  double const max = info(element).max;
  double const spacing = max - float_value(element, float_bits(element, max) - 1);
  return {max, static_cast<long double>(max) + static_cast<long double>(spacing / 2)};
}

/// Tells whether a number is rounded to one within the range: the maximum ends it, halfway to the next one.
constexpr bool fits(Element element, double value) {
  double const magnitude = value < 0 ? -value : value;
  long double const beyond = float_range(element).beyond;
  bool const halfway_stays = (float_bits(element, info(element).max) & 1) == 0;
  return magnitude < beyond || (magnitude == beyond && halfway_stays);
}

/// Returns a double that f32 and each narrower float round to the same number as the integer itself.
constexpr double shortened_integer(bool negative, std::uint64_t magnitude) {
  // A double holds 53 bits: of the 11 lowest it is enough to know that one is set.
  constexpr std::uint64_t low = 0x7FF;
  if (magnitude >> 53 != 0 && (magnitude & low) != 0) magnitude = (magnitude & ~low) | (low + 1);
  return negative ? -static_cast<double>(magnitude) : static_cast<double>(magnitude);
}

}  // namespace tegula::support

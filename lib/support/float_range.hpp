// Tells which numbers a floating element holds, and how an integer is rounded to one without rounding twice.
#pragma once

#include <cstdint>
#include <limits>

#include "tegula/support/element.hpp"

namespace tegula::support {

/// Holds the maximum of a floating element, and the smallest number that would be rounded to something above it.
struct FloatRange {
  double max;
  long double beyond;
};

constexpr FloatRange float_range(Element element) {
  switch (element) {
    case Element::e4m3:
      return {448, 464};
    case Element::e5m2:
      return {57344, 61440};
    case Element::f16:
      return {65504, 65520};
    case Element::bf16:
      return {0x1.fep127, 0x1.ffp127L};
    case Element::f32:
      return {std::numeric_limits<float>::max(), 0x1.ffffffp127L};
    default:
      return {std::numeric_limits<double>::max(), 0x1.fffffffffffff8p1023L};
  }
}

/// Returns a double that f32 and each narrower float round to the same number as the integer itself.
constexpr double shortened_integer(bool negative, std::uint64_t magnitude) {
  // A double holds 53 bits: of the 11 lowest it is enough to know that one is set.
  constexpr std::uint64_t low = 0x7FF;
  if (magnitude >> 53 != 0 && (magnitude & low) != 0) magnitude = (magnitude & ~low) | (low + 1);
  return negative ? -static_cast<double>(magnitude) : static_cast<double>(magnitude);
}

}  // namespace tegula::support

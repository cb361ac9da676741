// Converts the floats of element_table to and from double, constexpr, rounded once to nearest even.
#pragma once

#include <bit>
#include <cstdint>

#include "tegula/support/element.hpp"

namespace tegula {

/// Rounds a double to a binary float format of 1 + exponent_bits + mantissa_bits bits; overflow gives infinity, NaN a
/// quiet NaN, subnormals are kept.
template <int exponent_bits, int mantissa_bits>
constexpr std::uint32_t narrow_float(double value) {
  constexpr int bias = (1 << (exponent_bits - 1)) - 1;
  constexpr std::uint32_t infinity = ((1U << exponent_bits) - 1) << mantissa_bits;
  std::uint64_t const bits = std::bit_cast<std::uint64_t>(value);
  std::uint32_t const sign = static_cast<std::uint32_t>(bits >> 63) << (exponent_bits + mantissa_bits);
  std::uint64_t const magnitude = bits & 0x7FFFFFFFFFFFFFFFULL;
  if (magnitude > 0x7FF0000000000000ULL) return sign | infinity | (1U << (mantissa_bits - 1));
  int const exponent = static_cast<int>(magnitude >> 52) - 1023;
  if (exponent > bias) return sign | infinity;
  if (exponent < 1 - bias - mantissa_bits - 1) return sign;
  std::uint64_t const significand = (magnitude & 0xFFFFFFFFFFFFFULL) | 0x10000000000000ULL;
  int const below_normal = exponent < 1 - bias ? 1 - bias - exponent : 0;
  int const shift = 52 - mantissa_bits + below_normal;
  std::uint64_t kept = significand >> shift;
  std::uint64_t const rest = significand & ((1ULL << shift) - 1);
  std::uint64_t const half = 1ULL << (shift - 1);
  if (rest > half || (rest == half && (kept & 1) != 0)) ++kept;
  // A carry into the exponent is right by construction of the format.
  std::uint64_t const biased = below_normal != 0 ? 0 : static_cast<std::uint64_t>(exponent + bias - 1) << mantissa_bits;
  return sign | static_cast<std::uint32_t>(kept + biased);
}

/// Returns the exact value of a float of 1 + exponent_bits + mantissa_bits bits.
template <int exponent_bits, int mantissa_bits>
constexpr double widen_float(std::uint32_t bits) {
  constexpr int bias = (1 << (exponent_bits - 1)) - 1;
  std::uint64_t const sign = static_cast<std::uint64_t>(bits >> (exponent_bits + mantissa_bits) & 1U) << 63;
  std::uint32_t const exponent = bits >> mantissa_bits & ((1U << exponent_bits) - 1);
  std::uint64_t mantissa = bits & ((1U << mantissa_bits) - 1);
  if (exponent == (1U << exponent_bits) - 1)
    return std::bit_cast<double>(sign | 0x7FF0000000000000ULL | mantissa << (52 - mantissa_bits));
  int unbiased = static_cast<int>(exponent) - bias;
  if (exponent == 0) {
    if (mantissa == 0) return std::bit_cast<double>(sign);
    unbiased = 1 - bias;
    while ((mantissa >> mantissa_bits) == 0) {
      mantissa <<= 1;
      --unbiased;
    }
    mantissa &= (1ULL << mantissa_bits) - 1;
  }
  return std::bit_cast<double>(sign | static_cast<std::uint64_t>(unbiased + 1023) << 52 |
                               mantissa << (52 - mantissa_bits));
}

namespace detail {

/// Returns the bits of a float whose conversions saturate.
template <Element element>
constexpr std::uint32_t saturated_bits(double value) {
  constexpr int exponent = exponent_bits(element), mantissa = info(element).mantissa;
  constexpr std::uint32_t sign_bit = 1U << (exponent + mantissa);
  if (value != value) return sign_bit - 1;
  double const magnitude = value < 0 ? -value : value;
  std::uint32_t const sign = narrow_float<exponent, mantissa>(value) & sign_bit;
  double const held = magnitude < info(element).max ? magnitude : info(element).max;
  std::uint32_t bits = narrow_float<exponent, mantissa>(held);
  if constexpr (info(element).overflow == Overflow::only_a_nan) {
    // Above 1 the bits are those of a format with one more bit of exponent, so many exponents further down.
    constexpr std::uint32_t down = 1U << (exponent - 1 + mantissa);
    if (held >= 1) bits = narrow_float<exponent + 1, mantissa>(held) - down;
  }
  return sign | bits;
}

/// Returns the value of a float whose uppermost exponent is an ordinary one, but for one code that is not a number.
template <Element element>
constexpr double value_with_a_nan(std::uint32_t bits) {
  constexpr int exponent = exponent_bits(element), mantissa = info(element).mantissa;
  constexpr std::uint32_t sign_bit = 1U << (exponent + mantissa);
  constexpr std::uint32_t uppermost = ((1U << exponent) - 1) << mantissa;
  std::uint32_t const magnitude = bits & (sign_bit - 1);
  if (magnitude < uppermost) return widen_float<exponent, mantissa>(bits);
  if (magnitude == sign_bit - 1) return widen_float<exponent + 1, mantissa>(2 * sign_bit - 1);
  double const value = widen_float<exponent + 1, mantissa>(magnitude + (1U << (exponent - 1 + mantissa)));
  return (bits & sign_bit) != 0 ? -value : value;
}

}  // namespace detail

/// Returns the bits of the float nearest to a number, and the value of a float's bits. Beyond the maximum, infinities
/// too, a number becomes what the row of the element says; NaN becomes a quiet one, 0x7F of 8 bits. Floats of 8 bits
/// follow the OCP's specification and the conversions of PTX (.satfinite).
template <Element element>
constexpr std::uint64_t float_bits(double value) {
  static_assert(is_float(element), "float_bits: the element must be a float");
  if constexpr (element == Element::f64)
    return std::bit_cast<std::uint64_t>(value);
  else if constexpr (element == Element::f32)
    return std::bit_cast<std::uint32_t>(static_cast<float>(value));
  else if constexpr (info(element).overflow != Overflow::infinity)
    return detail::saturated_bits<element>(value);
  else
    return narrow_float<exponent_bits(element), info(element).mantissa>(value);
}
template <Element element>
constexpr double float_value(std::uint64_t bits) {
  static_assert(is_float(element), "float_value: the element must be a float");
  if constexpr (element == Element::f64)
    return std::bit_cast<double>(bits);
  else if constexpr (element == Element::f32)
    return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  else if constexpr (info(element).overflow == Overflow::only_a_nan)
    return detail::value_with_a_nan<element>(static_cast<std::uint32_t>(bits));
  else
    return widen_float<exponent_bits(element), info(element).mantissa>(static_cast<std::uint32_t>(bits));
}

/// Do the same for an element known when the program runs; 0 where it is not a float.
constexpr std::uint64_t float_bits(Element element, double value) {
  return visit_element(element, [&]<Element at>() -> std::uint64_t {
    if constexpr (is_float(at)) return float_bits<at>(value);
    return 0;
  });
}
constexpr double float_value(Element element, std::uint64_t bits) {
  return visit_element(element, [&]<Element at>() -> double {
    if constexpr (is_float(at)) return float_value<at>(bits);
    return 0;
  });
}

constexpr std::uint16_t f16_bits(double value) { return static_cast<std::uint16_t>(float_bits<Element::f16>(value)); }
constexpr std::uint16_t bf16_bits(double value) { return static_cast<std::uint16_t>(float_bits<Element::bf16>(value)); }
constexpr double f16_value(std::uint16_t bits) { return float_value<Element::f16>(bits); }
constexpr double bf16_value(std::uint16_t bits) { return float_value<Element::bf16>(bits); }
constexpr std::uint8_t e4m3_bits(double value) { return static_cast<std::uint8_t>(float_bits<Element::e4m3>(value)); }
constexpr std::uint8_t e5m2_bits(double value) { return static_cast<std::uint8_t>(float_bits<Element::e5m2>(value)); }
constexpr double e4m3_value(std::uint8_t bits) { return float_value<Element::e4m3>(bits); }
constexpr double e5m2_value(std::uint8_t bits) { return float_value<Element::e5m2>(bits); }

static_assert(f16_bits(1.0) == 0x3C00 && f16_bits(65520.0) == 0x7C00 && f16_bits(65519.0) == 0x7BFF &&
              f16_value(0x0001) == 0x1p-24);
static_assert(bf16_bits(1.00390625) == 0x3F80 && bf16_bits(3.3895e38) == 0x7F7F && bf16_bits(3.4e38) == 0x7F80 &&
              bf16_value(0x4049) == 3.140625);
static_assert(e4m3_bits(1.0) == 0x38 && e4m3_bits(1e9) == 0x7E && e4m3_bits(-0.0) == 0x80 && e4m3_bits(0x1p-9) == 1 &&
              e4m3_bits(0.99) == 0x38 && e4m3_value(0x7E) == 448 && e4m3_value(0xF8) == -256 &&
              e4m3_bits(464) == 0x7E && e4m3_value(0x7F) != e4m3_value(0x7F));
static_assert(e5m2_bits(1.0) == 0x3C && e5m2_bits(-1e9) == 0xFB && e5m2_bits(61440) == 0x7B &&
              e5m2_value(0x7B) == 57344 && e5m2_bits(0x1p-16) == 1);

}  // namespace tegula

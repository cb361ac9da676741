// Converts float formats of 8 and 16 bits to and from double, constexpr, rounded once to nearest even.
#pragma once

#include <bit>
#include <cstdint>

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

constexpr std::uint16_t f16_bits(double value) { return static_cast<std::uint16_t>(narrow_float<5, 10>(value)); }
constexpr std::uint16_t bf16_bits(double value) { return static_cast<std::uint16_t>(narrow_float<8, 7>(value)); }
constexpr double f16_value(std::uint16_t bits) { return widen_float<5, 10>(bits); }
constexpr double bf16_value(std::uint16_t bits) { return widen_float<8, 7>(bits); }

// Formats of 8 bits follow the OCP's specification and the conversions of PTX (.satfinite). Values beyond the maximum
// become the maximum, infinities too; NaN is 0x7F. e4m3 does not have infinities, so its uppermost exponent is an
// ordinary one.
inline constexpr double e4m3_greatest = 448, e5m2_greatest = 57344;

constexpr std::uint8_t e4m3_bits(double value) {
  if (value != value) return 0x7F;
  double const magnitude = value < 0 ? -value : value;
  std::uint32_t const sign = narrow_float<4, 3>(value) & 0x80;
  if (magnitude >= e4m3_greatest) return static_cast<std::uint8_t>(sign | 0x7E);
  // Above 1 the bits are those of a format with one more bit of exponent, 8 exponents further down.
  std::uint32_t const bits = magnitude < 1 ? narrow_float<4, 3>(magnitude) : narrow_float<5, 3>(magnitude) - (8 << 3);
  return static_cast<std::uint8_t>(sign | bits);
}
constexpr double e4m3_value(std::uint8_t bits) {
  std::uint32_t const magnitude = bits & 0x7F;
  if (magnitude < 0x78) return widen_float<4, 3>(bits);
  if (magnitude == 0x7F) return widen_float<5, 3>(0xFF);
  double const value = widen_float<5, 3>(magnitude + (8 << 3));
  return (bits & 0x80) != 0 ? -value : value;
}
constexpr std::uint8_t e5m2_bits(double value) {
  if (value != value) return 0x7F;
  std::uint32_t const bits = narrow_float<5, 2>(value);
  return static_cast<std::uint8_t>((bits & 0x7C) == 0x7C ? (bits & 0x80) | 0x7B : bits);
}
constexpr double e5m2_value(std::uint8_t bits) { return widen_float<5, 2>(bits); }

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

// 16-bit float formats: conversions to and from double, constexpr, rounded once to nearest even.
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

/// The exact value of a float of 1 + exponent_bits + mantissa_bits bits.
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

static_assert(f16_bits(1.0) == 0x3C00 && f16_bits(65520.0) == 0x7C00 && f16_bits(65519.0) == 0x7BFF &&
              f16_value(0x0001) == 0x1p-24);
static_assert(bf16_bits(1.00390625) == 0x3F80 && bf16_bits(3.3895e38) == 0x7F7F && bf16_bits(3.4e38) == 0x7F80 &&
              bf16_value(0x4049) == 3.140625);

}  // namespace tegula

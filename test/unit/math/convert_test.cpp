// Conversions and integer arithmetic against the tables of support/half.hpp and wide arithmetic.
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include "support/catch.hpp"
#include "tegula/math/functions.hpp"
#include "tegula/support/half.hpp"

namespace math = tegula::math;

TEST_CASE("every f16 and bf16 widens exactly", "[math]") {
  long wrong = 0;
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    auto const narrow = static_cast<std::uint16_t>(bits);
    double const f16 = tegula::f16_value(narrow), bf16 = tegula::bf16_value(narrow);
    float const f = math::f16_to_float(narrow), b = math::bf16_to_float(narrow);
    if (std::isnan(f16) ? !std::isnan(f) : static_cast<double>(f) != f16 || std::signbit(f) != std::signbit(f16))
      ++wrong;
    if (std::isnan(bf16) ? !std::isnan(b) : static_cast<double>(b) != bf16 || std::signbit(b) != std::signbit(bf16))
      ++wrong;
    // And back.
    if (!std::isnan(f) && math::float_to_f16(f) != narrow) ++wrong;
    if (!std::isnan(b) && math::float_to_bf16(b) != narrow) ++wrong;
  }
  CHECK(wrong == 0);
}

TEST_CASE("f32 rounds once to f16 and bf16", "[math]") {
  long wrong = 0;
  auto const check = [&](std::uint32_t bits) {
    float const x = std::bit_cast<float>(bits);
    if (math::float_to_f16(x) != tegula::f16_bits(x)) ++wrong;
    if (math::float_to_bf16(x) != tegula::bf16_bits(x)) ++wrong;
  };
  for (std::uint64_t bits = 0; bits <= 0xFFFFFFFFU; bits += 1021) check(static_cast<std::uint32_t>(bits));
  // All that lies within two units of a halfway point or a representable value of either format.
  for (std::uint32_t high = 0; high < 0x80000; ++high)
    for (std::uint32_t low : {0U, 1U, 0xFFFU, 0x1000U, 0x1001U, 0x1FFFU}) check(high << 13 | low);
  CHECK(wrong == 0);
}

TEST_CASE("f64 rounds once to f16 and bf16", "[math]") {
  // 1 + 2^-11 + 2^-40 lies above the halfway point between two f16, but rounds down to it in f32 first.
  static_assert(math::double_to_f16(1 + 0x1p-11 + 0x1p-40) == 0x3C01);
  static_assert(math::double_to_bf16(1 + 0x1p-8 + 0x1p-40) == 0x3F81);
  std::mt19937_64 random(11);
  long wrong = 0;
  auto const check = [&](double x) {
    if (math::double_to_f16(x) != tegula::f16_bits(x)) ++wrong;
    if (math::double_to_bf16(x) != tegula::bf16_bits(x)) ++wrong;
  };
  for (int i = 0; i < 300000; ++i) {
    check(std::bit_cast<double>(random()));
    double const coarse = static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(random()) & 0xFFFFF000U));
    if (std::isnan(coarse)) continue;
    check(coarse);
    check(std::nextafter(coarse, 1e300));
    check(std::nextafter(coarse, -1e300));
    check(coarse * (1 + 0x1p-30));
  }
  CHECK(wrong == 0);
}

TEST_CASE("i64 rounds once to f16 and bf16", "[math]") {
  std::mt19937_64 random(12);
  long wrong = 0;
  auto const check = [&](std::int64_t x) {
    // To bf16 by hand: 8 significant bits, ties to even.
    bool const negative = x < 0;
    std::uint64_t const magnitude = negative ? 0 - static_cast<std::uint64_t>(x) : static_cast<std::uint64_t>(x);
    int const length = 64 - std::countl_zero(magnitude);
    std::uint64_t kept = magnitude;
    if (length > 8) {
      int const drop = length - 8;
      kept = magnitude >> drop;
      std::uint64_t const rest = magnitude & ((std::uint64_t{1} << drop) - 1), half = std::uint64_t{1} << (drop - 1);
      if (rest > half || (rest == half && (kept & 1) != 0)) ++kept;
      double const value = std::ldexp(static_cast<double>(kept), drop);
      if (tegula::bf16_value(math::int_to_bf16(x)) != (negative ? -value : value)) ++wrong;
    } else if (tegula::bf16_value(math::int_to_bf16(x)) != static_cast<double>(x)) {
      ++wrong;
    }
    if (length <= 20 && math::int_to_f16(x) != tegula::f16_bits(static_cast<double>(x))) ++wrong;
    if (length > 20 && math::int_to_f16(x) != (negative ? 0xFC00 : 0x7C00)) ++wrong;
  };
  for (int i = 0; i < 200000; ++i) {
    auto const x = static_cast<std::int64_t>(random() >> (random() % 64));
    check(x);
    check(-x);
    // Near halfway points of bf16.
    auto const halfway = static_cast<std::int64_t>((random() % 256 + 256) * 2 + 1) << (random() % 50);
    check(halfway);
    check(halfway + 1);
    check(halfway - 1);
    check(-halfway - 1);
  }
  check(std::numeric_limits<std::int64_t>::min());
  check(std::numeric_limits<std::int64_t>::max());
  check(0);
  CHECK(wrong == 0);
}

TEST_CASE("floats to integers truncate and saturate", "[math]") {
  constexpr auto inf = std::numeric_limits<double>::infinity();
  static_assert(math::float_to_int<std::int32_t>(-1.99F) == -1 &&
                math::float_to_int<std::int32_t>(3e9F) == std::numeric_limits<std::int32_t>::max());
  static_assert(math::float_to_int<std::int32_t>(-3e9) == std::numeric_limits<std::int32_t>::min());
  static_assert(math::float_to_int<std::int64_t>(0x1p63) == std::numeric_limits<std::int64_t>::max());
  static_assert(math::float_to_int<std::int64_t>(-0x1p63F) == std::numeric_limits<std::int64_t>::min());
  CHECK(math::float_to_int<std::int32_t>(2147483647.0) == 2147483647);
  CHECK(math::float_to_int<std::int32_t>(-2147483648.9) == std::numeric_limits<std::int32_t>::min());
  CHECK(math::float_to_int<std::int64_t>(inf) == std::numeric_limits<std::int64_t>::max());
  CHECK(math::float_to_int<std::int32_t>(-inf) == std::numeric_limits<std::int32_t>::min());
  CHECK(math::float_to_int<std::int64_t>(std::numeric_limits<float>::quiet_NaN()) == 0);
}

TEST_CASE("integer arithmetic wraps and never traps", "[math]") {
  constexpr auto least = std::numeric_limits<std::int32_t>::min();
  constexpr auto least64 = std::numeric_limits<std::int64_t>::min();
  static_assert(math::div(7, 0) == 0 && math::div(-7, 2) == -3 && math::div(least, -1) == least &&
                math::div(least64, std::int64_t{-1}) == least64);
  static_assert(math::rem(7, 0) == 7 && math::rem(-7, 2) == -1 && math::rem(least, -1) == 0);
  static_assert(math::ceil_div(7, 2) == 4 && math::ceil_div(6, 2) == 3 && math::ceil_div(0, 5) == 0 &&
                math::ceil_div(7, 0) == 0 && math::ceil_div(7, -2) == 0);
  static_assert(math::ceil_div(std::numeric_limits<std::int32_t>::max(), 2) == 1 << 30);
  static_assert(math::shift_left(1, 31) == least && math::shift_left(1, 32) == 0 && math::shift_left(1, -1) == 0 &&
                math::shift_left(-1, 4) == -16);
  static_assert(math::shift_right(least, 31) == -1 && math::shift_right(-8, 1) == -4 &&
                math::shift_right(-8, 99) == -1 && math::shift_right(8, -1) == 0);
  static_assert(math::wrapping_add(std::numeric_limits<std::int32_t>::max(), 1) == least &&
                math::wrapping_mul(1 << 20, 1 << 20) == 0);
  static_assert(math::min(1.0F, std::numeric_limits<float>::quiet_NaN()) == 1 &&
                math::max(std::numeric_limits<float>::quiet_NaN(), 2.0F) == 2);
  CHECK(math::wrapping_sub(least, 1) == std::numeric_limits<std::int32_t>::max());
}

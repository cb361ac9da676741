// Compares conversions and integer arithmetic with the tables of support/half.hpp and wide arithmetic.
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "support/catch.hpp"
#include "tegula/math/functions.hpp"
#include "tegula/support/half.hpp"

namespace math = tegula::math;
using tegula::Element;

namespace {

/// Names a narrow float, with its conversions by support/half.hpp.
struct Format {
  Element element;
  [[nodiscard]] std::uint64_t bits(double x) const { return tegula::float_bits(element, x); }
  [[nodiscard]] double value(std::uint16_t code) const { return tegula::float_value(element, code); }
};
std::vector<Format> const formats = [] {
  std::vector<Format> result;
  for (tegula::ElementInfo const& row : tegula::element_table)
    if (tegula::is_narrow_float(row.element)) result.push_back({row.element});
  return result;
}();

/// Computes a value of a format of 8 bits from the words of its specification.
double value_by_hand(Element element, std::uint32_t code) {
  int const fraction_bits = tegula::info(element).mantissa, bias = element == Element::e4m3 ? 7 : 15;
  auto const exponent = static_cast<int>((code & 0x7F) >> fraction_bits);
  double const fraction = std::ldexp(static_cast<double>(code & ((1U << fraction_bits) - 1)), -fraction_bits);
  double const sign = (code & 0x80) != 0 ? -1 : 1;
  if (element == Element::e4m3 && (code & 0x7F) == 0x7F) return std::numeric_limits<double>::quiet_NaN();
  if (element == Element::e5m2 && exponent == 31)
    return fraction == 0 ? sign * std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  return exponent == 0 ? sign * std::ldexp(fraction, 1 - bias) : sign * std::ldexp(1 + fraction, exponent - bias);
}

bool same(double a, double b) { return std::isnan(a) ? std::isnan(b) : a == b && std::signbit(a) == std::signbit(b); }

}  // namespace

TEST_CASE("every narrow float widens exactly", "[math]") {
  for (Format const& format : formats) {
    INFO(tegula::name(format.element));
    long wrong = 0;
    for (std::uint32_t code = 0; code < 1U << tegula::bits(format.element); ++code) {
      auto const narrow = static_cast<std::uint16_t>(code);
      float const x = math::narrow_value(format.element, narrow);
      if (!same(format.value(narrow), static_cast<double>(x))) ++wrong;
      if (tegula::is_f8(format.element) && !same(value_by_hand(format.element, code), static_cast<double>(x))) ++wrong;
      // And back, but for the infinities of e5m2, which saturate.
      bool const kept = tegula::is_f8(format.element) ? std::isfinite(x) : !std::isnan(x);
      if (kept && math::narrow_bits(format.element, x) != narrow) ++wrong;
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("f32 rounds once to narrow floats", "[math]") {
  long wrong = 0;
  auto const check = [&](std::uint32_t bits) {
    float const x = std::bit_cast<float>(bits);
    for (Format const& format : formats)
      if (math::narrow_bits(format.element, x) != format.bits(static_cast<double>(x))) ++wrong;
  };
  for (std::uint64_t bits = 0; bits <= 0xFFFFFFFFU; bits += 1021) check(static_cast<std::uint32_t>(bits));
  // All that lies within two units of a halfway point or a representable value of a format of 16 bits.
  for (std::uint32_t high = 0; high < 0x80000; ++high)
    for (std::uint32_t low : {0U, 1U, 0xFFFU, 0x1000U, 0x1001U, 0x1FFFU}) check(high << 13 | low);
  // And of 8 bits: the value, halfway to the next one, and the neighbours of both.
  for (Format const& format : formats) {
    if (!tegula::is_f8(format.element)) continue;
    for (std::uint16_t code = 0; code < 256; ++code) {
      double const value = value_by_hand(format.element, code), next = value_by_hand(format.element, code + 1U);
      if (!std::isfinite(value) || (code & 0x7F) == 0x7F) continue;
      double const halfway = std::isfinite(next) ? (value + next) / 2 : value * (1 + 0x1p-4);
      for (double x : {value, halfway}) {
        auto const bits = std::bit_cast<std::uint32_t>(static_cast<float>(x));
        check(bits), check(bits + 1), check(bits == 0 ? 0x80000000U : bits - 1);
      }
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("floats of 8 bits round ties to even, saturate and keep NaN", "[math]") {
  constexpr float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  struct Row {
    float x;
    std::uint16_t e4m3, e5m2;
  };
  constexpr Row rows[] = {{0.0F, 0x00, 0x00},        {-0.0F, 0x80, 0x80},
                          {1.0F, 0x38, 0x3C},        {-1.0F, 0xB8, 0xBC},
                          {1.0625F, 0x38, 0x3C},     {1.1875F, 0x3A, 0x3D},
                          {1.125F, 0x39, 0x3C},      {1.375F, 0x3B, 0x3E},
                          {448.0F, 0x7E, 0x5F},      {463.0F, 0x7E, 0x5F},
                          {480.0F, 0x7E, 0x60},      {57344.0F, 0x7E, 0x7B},
                          {-61440.0F, 0xFE, 0xFB},   {1e9F, 0x7E, 0x7B},
                          {inf, 0x7E, 0x7B},         {-inf, 0xFE, 0xFB},
                          {nan, 0x7F, 0x7F},         {-nan, 0x7F, 0x7F},
                          {0x1p-6F, 0x08, 0x24},     {0x1p-9F, 0x01, 0x18},
                          {0x1p-10F, 0x00, 0x14},    {0x1.000002p-10F, 0x01, 0x14},
                          {0x1.8p-9F, 0x02, 0x1A},   {0x1p-14F, 0x00, 0x04},
                          {0x1p-16F, 0x00, 0x01},    {0x1p-17F, 0x00, 0x00},
                          {-0x1.8p-16F, 0x80, 0x82}, {0x1p-149F, 0x00, 0x00}};
  for (Row const& row : rows) {
    INFO(row.x);
    CHECK(math::narrow_bits(Element::e4m3, row.x) == row.e4m3);
    CHECK(math::narrow_bits(Element::e5m2, row.x) == row.e5m2);
  }
}

TEST_CASE("f64 rounds once to narrow floats", "[math]") {
  // These lie above the halfway point between two narrow floats, but round down to it in f32 first.
  static_assert(math::narrow_bits(Element::f16, 1 + 0x1p-11 + 0x1p-40) == 0x3C01);
  static_assert(math::narrow_bits(Element::bf16, 1 + 0x1p-8 + 0x1p-40) == 0x3F81);
  static_assert(math::narrow_bits(Element::e4m3, 1 + 0x1p-4 + 0x1p-40) == 0x39);
  static_assert(math::narrow_bits(Element::e5m2, 1 + 0x1p-3 + 0x1p-40) == 0x3D);
  static_assert(math::narrow_bits(Element::e4m3, 0x1p-10 + 0x1p-60) == 0x01);
  static_assert(math::narrow_bits(Element::e5m2, 0x1p-17 + 0x1p-60) == 0x01);
  std::mt19937_64 random(11);
  long wrong = 0;
  auto const check = [&](double x) {
    for (Format const& format : formats)
      if (math::narrow_bits(format.element, x) != format.bits(x)) ++wrong;
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
  // The same near halfway points of the formats of 8 bits.
  for (int i = 0; i < 20000; ++i) {
    double const halfway = std::ldexp(static_cast<double>(static_cast<std::int64_t>(random() % 63) - 31),
                                      static_cast<int>(random() % 36) - 20);
    check(halfway);
    check(std::nextafter(halfway, 1e300));
    check(std::nextafter(halfway, -1e300));
    check(halfway * (1 + 0x1p-30));
    check(halfway * (1 - 0x1p-30));
  }
  CHECK(wrong == 0);
}

TEST_CASE("i64 rounds once to narrow floats", "[math]") {
  std::mt19937_64 random(12);
  long wrong = 0;
  auto const check = [&](std::int64_t x) {
    bool const negative = x < 0;
    std::uint64_t const magnitude = negative ? 0 - static_cast<std::uint64_t>(x) : static_cast<std::uint64_t>(x);
    int const length = 64 - std::countl_zero(magnitude);
    for (Format const& format : formats) {
      // By hand: as many significant bits as the format has, ties to even; then the format's limit.
      int const significant = tegula::info(format.element).mantissa + 1;
      double value = static_cast<double>(magnitude);
      if (length > significant) {
        int const drop = length - significant;
        std::uint64_t kept = magnitude >> drop;
        std::uint64_t const rest = magnitude & ((std::uint64_t{1} << drop) - 1), half = std::uint64_t{1} << (drop - 1);
        if (rest > half || (rest == half && (kept & 1) != 0)) ++kept;
        value = std::ldexp(static_cast<double>(kept), drop);
      }
      if (math::narrow_bits(format.element, x) != format.bits(negative ? -value : value)) ++wrong;
    }
  };
  for (int i = 0; i < 200000; ++i) {
    auto const x = static_cast<std::int64_t>(random() >> (random() % 64));
    check(x);
    check(-x);
    // Near halfway points of bf16, e4m3 and e5m2.
    for (std::uint64_t steps : {256U, 8U, 4U}) {
      auto const halfway = static_cast<std::int64_t>((random() % steps + steps) * 2 + 1) << (random() % 50);
      check(halfway);
      check(halfway + 1);
      check(halfway - 1);
      check(-halfway - 1);
    }
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
  static_assert(math::float_to_int<std::int8_t>(127.9F) == 127 && math::float_to_int<std::int8_t>(128.0F) == 127 &&
                math::float_to_int<std::int8_t>(-128.9) == -128 && math::float_to_int<std::int8_t>(-1e30) == -128 &&
                math::float_to_int<std::int8_t>(-0.9F) == 0);
  static_assert(math::float_to_int<std::uint8_t>(255.9F) == 255 && math::float_to_int<std::uint8_t>(256.0) == 255 &&
                math::float_to_int<std::uint8_t>(-0.9F) == 0 && math::float_to_int<std::uint8_t>(-1e30) == 0);
  static_assert(
      math::float_to_int<std::uint16_t>(65535.9F) == 65535 && math::float_to_int<std::uint16_t>(1e30F) == 65535 &&
      math::float_to_int<std::int16_t>(-32768.9F) == -32768 && math::float_to_int<std::int16_t>(4e4F) == 32767);
  CHECK(math::float_to_int<std::int8_t>(std::numeric_limits<float>::quiet_NaN()) == 0);
  CHECK(math::float_to_int<std::int32_t>(2147483647.0) == 2147483647);
  CHECK(math::float_to_int<std::int32_t>(-2147483648.9) == std::numeric_limits<std::int32_t>::min());
  CHECK(math::float_to_int<std::int64_t>(inf) == std::numeric_limits<std::int64_t>::max());
  CHECK(math::float_to_int<std::int32_t>(-inf) == std::numeric_limits<std::int32_t>::min());
  CHECK(math::float_to_int<std::int64_t>(std::numeric_limits<float>::quiet_NaN()) == 0);
}

TEST_CASE("integer arithmetic wraps and never traps", "[math]") {
  constexpr auto min = std::numeric_limits<std::int32_t>::min();
  constexpr auto least64 = std::numeric_limits<std::int64_t>::min();
  static_assert(math::div(7, 0) == 0 && math::div(-7, 2) == -3 && math::div(min, -1) == min &&
                math::div(least64, std::int64_t{-1}) == least64);
  static_assert(math::rem(7, 0) == 7 && math::rem(-7, 2) == -1 && math::rem(min, -1) == 0);
  static_assert(math::ceil_div(7, 2) == 4 && math::ceil_div(6, 2) == 3 && math::ceil_div(0, 5) == 0 &&
                math::ceil_div(7, 0) == 0 && math::ceil_div(7, -2) == 0);
  static_assert(math::ceil_div(std::numeric_limits<std::int32_t>::max(), 2) == 1 << 30);
  static_assert(math::shift_left(1, 31) == min && math::shift_left(1, 32) == 0 && math::shift_left(1, -1) == 0 &&
                math::shift_left(-1, 4) == -16);
  static_assert(math::shift_right(min, 31) == -1 && math::shift_right(-8, 1) == -4 && math::shift_right(-8, 99) == -1 &&
                math::shift_right(8, -1) == 0);
  static_assert(math::wrapping_add(std::numeric_limits<std::int32_t>::max(), 1) == min &&
                math::wrapping_mul(1 << 20, 1 << 20) == 0);
  static_assert(math::min(1.0F, std::numeric_limits<float>::quiet_NaN()) == 1 &&
                math::max(std::numeric_limits<float>::quiet_NaN(), 2.0F) == 2);
  CHECK(math::wrapping_sub(min, 1) == std::numeric_limits<std::int32_t>::max());
}

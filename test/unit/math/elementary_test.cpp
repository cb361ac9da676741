// Tests error bounds and edges of the elementary functions, against functions of higher precision.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include "../../../samples/support/compare.hpp"
#include "support/catch.hpp"
#include "tegula/math/functions.hpp"

namespace math = tegula::math;
using samples::Comparison;

namespace {

/// Compares T's value of a function in units of the last place of `exact`. The place is the argument's bits.
template <class T>
void add(Comparison& all, T x, T found, long double exact) {
  constexpr bool wide = sizeof(T) == 8;
  auto const place =
      static_cast<std::int64_t>(std::bit_cast<std::conditional_t<wide, std::uint64_t, std::uint32_t>>(x));
  auto const rounded = static_cast<double>(static_cast<T>(exact));
  if (!std::isfinite(rounded) || !std::isfinite(found))
    return all.add(place, static_cast<double>(found), rounded, 1, false);
  int exponent = 0;
  std::frexp(exact, &exponent);
  long double const unit = std::ldexp(1.0L, std::max(exponent - (wide ? 53 : 24), wide ? -1074 : -149));
  all.add(place, static_cast<double>((static_cast<long double>(found) - exact) / unit), 0, 1, false);
}

/// Visits every stride-th bit pattern of f32, NaNs and subnormals among them.
template <class Found, class Exact>
Comparison sweep(double bound, Found found, Exact exact, std::uint64_t stride) {
  Comparison all(bound);
  for (std::uint64_t bits = 0; bits <= 0xFFFFFFFFU; bits += stride) {
    float const x = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    add(all, x, found(x), exact(static_cast<double>(x)));
  }
  return all;
}

template <class Found, class Exact>
Comparison sweep_f64(double bound, Found found, Exact exact, double low, double high) {
  std::mt19937_64 random(7);
  Comparison all(bound);
  for (int i = 0; i < 400000; ++i) {
    double const x = low + (high - low) * (static_cast<double>(random() >> 11) * 0x1p-53);
    add(all, x, found(x), exact(static_cast<long double>(x)));
  }
  return all;
}

}  // namespace

TEST_CASE("exp of f32 is within 2 ulp", "[math]") {  // 1, better than promised
  CHECK(sweep(
            1, [](float x) { return math::exp(x); }, [](double x) { return std::exp(x); }, 1009)
            .failure() == "");
}

TEST_CASE("exp2 of f32 is within 1 ulp", "[math]") {
  CHECK(sweep(
            1, [](float x) { return math::exp2(x); }, [](double x) { return std::exp2(x); }, 1009)
            .failure() == "");
}

TEST_CASE("log of f32 is within 1 ulp", "[math]") {
  CHECK(sweep(
            1, [](float x) { return math::log(x); }, [](double x) { return std::log(x); }, 1009)
            .failure() == "");
}

TEST_CASE("log2 of f32 is within 1 ulp", "[math]") {
  CHECK(sweep(
            1, [](float x) { return math::log2(x); }, [](double x) { return std::log2(x); }, 1009)
            .failure() == "");
}

TEST_CASE("f32 functions are dense around the places where their formulas change", "[math]") {
  // Around 1 (logarithms), the overflow and underflow of exponentials, and the halves of the range reduction.
  float const centres[] = {1.0F,        0.70710678F, 0.6666667F, 88.7228F, -87.3365F, -103.97F,
                           0.34657359F, 0.5F,        128.0F,     -126.0F,  -149.5F,   0x1p-126F};
  Comparison all_log(1), all_log2(1), all_exp(2), all_exp2(1);
  for (float centre : centres) {
    auto const first = std::bit_cast<std::uint32_t>(centre) - 20000;
    for (std::uint32_t i = 0; i < 40000; ++i) {
      float const x = std::bit_cast<float>(first + i);
      auto const wide = static_cast<double>(x);
      if (x > 0) {
        add(all_log, x, math::log(x), std::log(wide));
        add(all_log2, x, math::log2(x), std::log2(wide));
      }
      add(all_exp, x, math::exp(x), std::exp(wide));
      add(all_exp2, x, math::exp2(x), std::exp2(wide));
    }
  }
  for (Comparison const& all : {all_log, all_log2, all_exp, all_exp2}) CHECK(all.failure() == "");
}

TEST_CASE("every mantissa of f32 keeps the bounds where the formulas are worst", "[math]") {
  // Logarithms from 1/2 to 2, where nothing but the mantissa's own logarithm counts; exponentials from 1/4 to 1.
  Comparison all_log(1), all_log2(1), all_exp(1), all_exp2(1);
  for (std::uint32_t bits = std::bit_cast<std::uint32_t>(0.5F); bits < std::bit_cast<std::uint32_t>(2.0F); ++bits) {
    float const x = std::bit_cast<float>(bits);
    add(all_log, x, math::log(x), std::log(static_cast<double>(x)));
    add(all_log2, x, math::log2(x), std::log2(static_cast<double>(x)));
  }
  for (std::uint32_t bits = std::bit_cast<std::uint32_t>(0.25F); bits < std::bit_cast<std::uint32_t>(1.0F); bits += 3) {
    for (float const x : {std::bit_cast<float>(bits), -std::bit_cast<float>(bits)}) {
      add(all_exp, x, math::exp(x), std::exp(static_cast<double>(x)));
      add(all_exp2, x, math::exp2(x), std::exp2(static_cast<double>(x)));
    }
  }
  for (Comparison const& all : {all_log, all_log2, all_exp, all_exp2}) CHECK(all.failure() == "");
}

TEST_CASE("f64 functions are within 2 ulp", "[math]") {
  auto const exp = [](double x) { return math::exp(x); };
  auto const exp2 = [](double x) { return math::exp2(x); };
  auto const log = [](double x) { return math::log(x); };
  auto const log2 = [](double x) { return math::log2(x); };
  auto const exact_exp = [](long double x) { return std::exp(x); };
  auto const exact_exp2 = [](long double x) { return std::exp2(x); };
  auto const exact_log = [](long double x) { return std::log(x); };
  auto const exact_log2 = [](long double x) { return std::log2(x); };
  CHECK(sweep_f64(2, exp, exact_exp, -750, 712).failure() == "");
  CHECK(sweep_f64(2, exp, exact_exp, -1, 1).failure() == "");
  CHECK(sweep_f64(2, exp2, exact_exp2, -1080, 1026).failure() == "");
  CHECK(sweep_f64(2, exp2, exact_exp2, -1, 1).failure() == "");
  CHECK(sweep_f64(2, log, exact_log, 0.5, 2).failure() == "");
  CHECK(sweep_f64(2, log, exact_log, 1 - 1e-9, 1 + 1e-9).failure() == "");
  CHECK(sweep_f64(2, log, exact_log, 0, 1e300).failure() == "");
  CHECK(sweep_f64(2, log, exact_log, 0, 1e-310).failure() == "");
  CHECK(sweep_f64(2, log2, exact_log2, 0.5, 2).failure() == "");
  CHECK(sweep_f64(2, log2, exact_log2, 1 - 1e-9, 1 + 1e-9).failure() == "");
  CHECK(sweep_f64(2, log2, exact_log2, 0, 1e300).failure() == "");
  CHECK(sweep_f64(2, log2, exact_log2, 0, 1e-310).failure() == "");
}

namespace {

// At compile time, where overflow and NaN are refused unless the code avoids them.
template <class T>
inline constexpr T infinity = std::numeric_limits<T>::infinity();
template <class T>
inline constexpr T nan = std::numeric_limits<T>::quiet_NaN();
template <class T>
inline constexpr T min = std::numeric_limits<T>::denorm_min();
template <class T>
inline constexpr T max = std::numeric_limits<T>::max();
template <class T>
inline constexpr int min_exponent = std::numeric_limits<T>::min_exponent - std::numeric_limits<T>::digits;

template <class T>
constexpr bool exponentials_hold() {
  return math::exp(T{0}) == 1 && math::exp(-T{0}) == 1 && math::exp(infinity<T>) == infinity<T> &&
         math::exp(-infinity<T>) == 0 && math::exp(max<T>) == infinity<T> && math::exp(-max<T>) == 0 &&
         math::exp(min<T>) == 1 && math::is_nan(math::exp(nan<T>)) && math::exp2(T{0}) == 1 &&
         math::exp2(infinity<T>) == infinity<T> && math::exp2(-infinity<T>) == 0 && math::exp2(max<T>) == infinity<T> &&
         math::exp2(T{10}) == 1024 && math::exp2(T{-3}) == T(0.125) && math::exp2(T{min_exponent<T>}) == min<T> &&
         math::is_nan(math::exp2(nan<T>));
}
template <class T>
constexpr bool logarithms_hold() {
  return math::log(T{1}) == 0 && math::log(T{0}) == -infinity<T> && math::log(-T{0}) == -infinity<T> &&
         math::is_nan(math::log(T{-1})) && math::is_nan(math::log(-infinity<T>)) &&
         math::log(infinity<T>) == infinity<T> && math::is_nan(math::log(nan<T>)) && math::log(min<T>) < -80 &&
         math::log2(T{1}) == 0 && math::log2(T{0}) == -infinity<T> && math::is_nan(math::log2(T{-1})) &&
         math::log2(infinity<T>) == infinity<T> && math::is_nan(math::log2(nan<T>)) && math::log2(T{8}) == 3 &&
         math::log2(min<T>) == min_exponent<T> && math::log2(max<T>) <= std::numeric_limits<T>::max_exponent;
}
template <class T>
constexpr bool roots_hold() {
  return math::sqrt(T{0}) == 0 && math::is_nan(math::sqrt(T{-1})) && math::sqrt(infinity<T>) == infinity<T> &&
         math::is_nan(math::sqrt(nan<T>)) && math::sqrt(T{144}) == 12 && math::rsqrt(T{4}) == T(0.5) &&
         math::rsqrt(T{0}) == infinity<T> && math::rsqrt(-T{0}) == -infinity<T> && math::rsqrt(infinity<T>) == 0;
}

template <class T>
constexpr bool is_negative_zero(T x) {
  return x == 0 && 1 / math::rsqrt(x) == 0 && math::rsqrt(x) < 0;
}
template <class T>
constexpr bool waves_hold() {
  return is_negative_zero(math::sin(-T{0})) && math::sin(min<T>) == min<T> && math::is_nan(math::sin(infinity<T>)) &&
         math::is_nan(math::sin(nan<T>)) && math::sin(T{1}) == -math::sin(T{-1}) && math::sin(max<T>) <= 1 &&
         math::cos(-T{0}) == 1 && math::cos(min<T>) == 1 && math::is_nan(math::cos(-infinity<T>)) &&
         math::is_nan(math::cos(nan<T>)) && math::cos(max<T>) >= -1;
}
template <class T>
constexpr bool sigmoids_hold() {
  return is_negative_zero(math::tanh(-T{0})) && math::tanh(min<T>) == min<T> && math::tanh(infinity<T>) == 1 &&
         math::tanh(-max<T>) == -1 && math::is_nan(math::tanh(nan<T>)) && is_negative_zero(math::erf(-T{0})) &&
         math::erf(min<T>) == min<T> && math::erf(-infinity<T>) == -1 && math::erf(max<T>) == 1 &&
         math::is_nan(math::erf(nan<T>));
}
template <class T>
constexpr bool roundings_hold() {
  return is_negative_zero(math::ceil(T(-0.5))) && math::ceil(T(1.25)) == 2 && math::ceil(infinity<T>) == infinity<T> &&
         is_negative_zero(math::trunc(T(-0.5))) && math::trunc(T(-1.75)) == -1 && math::trunc(T(1.75)) == 1 &&
         math::is_nan(math::trunc(nan<T>));
}
static_assert(exponentials_hold<float>() && exponentials_hold<double>());
static_assert(logarithms_hold<float>() && logarithms_hold<double>());
static_assert(roots_hold<float>() && roots_hold<double>());
static_assert(waves_hold<float>() && waves_hold<double>());
static_assert(sigmoids_hold<float>() && sigmoids_hold<double>());
static_assert(roundings_hold<float>() && roundings_hold<double>());

}  // namespace

TEST_CASE("edges of the elementary functions are the same at run time", "[math]") {
  CHECK((exponentials_hold<float>() && exponentials_hold<double>()));
  CHECK((logarithms_hold<float>() && logarithms_hold<double>()));
  CHECK((roots_hold<float>() && roots_hold<double>()));
  CHECK(std::signbit(math::sqrt(-0.0F)));
}

namespace {

template <class T>
constexpr std::array<T, 64> constant_table(T (*function)(T), T low, T high) {
  std::array<T, 64> result{};
  for (int i = 0; i < 64; ++i) result[static_cast<std::size_t>(i)] = function(low + (high - low) * T(i) / 64);
  return result;
}

}  // namespace

TEST_CASE("compile time and run time give the same bits", "[math]") {
  static constexpr auto exp_table = constant_table<float>(&math::exp, -110, 90);
  static constexpr auto log_table = constant_table<double>(&math::log, 1e-3, 5);
  static constexpr auto sqrt_table = constant_table<float>(&math::sqrt, 1e-3F, 5);
  static constexpr auto sqrt_table_f64 = constant_table<double>(&math::sqrt, 1e-30, 5e-30);
  for (int i = 0; i < 64; ++i) {
    auto const at = static_cast<std::size_t>(i);
    CHECK(exp_table[at] == math::exp(-110.0F + 200.0F * float(i) / 64));
    CHECK(log_table[at] == math::log(1e-3 + (5 - 1e-3) * double(i) / 64));
    CHECK(sqrt_table[at] == std::sqrt(1e-3F + (5 - 1e-3F) * float(i) / 64));
    CHECK(sqrt_table_f64[at] == std::sqrt(1e-30 + (5e-30 - 1e-30) * double(i) / 64));
  }
}

TEST_CASE("round and floor are exact", "[math]") {
  std::mt19937 random(3);
  for (int i = 0; i < 200000; ++i) {
    float const x = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    if (std::isnan(x)) continue;
    CHECK(std::bit_cast<std::uint32_t>(math::round(x)) == std::bit_cast<std::uint32_t>(std::nearbyint(x)));
    CHECK(math::floor(x) == std::floor(x));
    double const y = static_cast<double>(x) * 1.0000001;
    CHECK(math::round(y) == std::nearbyint(y));
    CHECK(math::floor(y) == std::floor(y));
  }
  static_assert(math::round(2.5F) == 2 && math::round(3.5F) == 4 && math::round(-0.5) == 0 && math::floor(-0.5F) == -1);
  CHECK(std::signbit(math::round(-0.25F)));
  CHECK(std::isnan(math::floor(std::numeric_limits<float>::quiet_NaN())));
}

// Tests the formulas of GPUs (units.hpp, and those of elementary.hpp with products that meet sums unrounded) on a model
// of the hardware: quotients, roots, powers of 2 and reciprocals have the errors that NVIDIA states at worst. Device
// tests measure the hardware itself (test/device/function_bounds_test.cpp).
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <vector>

#include "support/catch.hpp"
#include "support/elementary.hpp"
#include "tegula/math/power.hpp"
#include "tegula/math/units.hpp"

namespace {

namespace math = tegula::math;

/// Returns the unit in the last place of f32 at a number.
double unit_at(double number) {
  int exponent = 0;
  std::frexp(number, &exponent);
  return std::ldexp(1.0, std::max(exponent - 24, -149));
}

/// Holds how far each unit errs besides rounding, in ulp. Rounding adds half of one.
struct Errors {
  double power = 0, quotient = 0, reciprocal = 0, root = 0;
};
Errors errors;

float with_error(double exact, double error) {
  if (exact == 0 || !std::isfinite(exact)) return static_cast<float>(exact);
  return static_cast<float>(exact + error * unit_at(exact));
}
float flushed(float number) { return std::fabs(number) < 0x1p-126F ? std::copysign(0.0F, number) : number; }

// The value type of the formulas; see tegula/math/scalar.hpp and units.hpp.
struct Integer {
  std::int32_t value;
  static Integer wrap(std::uint32_t bits) { return {static_cast<std::int32_t>(bits)}; }
  [[nodiscard]] std::uint32_t bits() const { return static_cast<std::uint32_t>(value); }
  friend Integer operator+(Integer a, Integer b) { return wrap(a.bits() + b.bits()); }
  friend Integer operator-(Integer a, Integer b) { return wrap(a.bits() - b.bits()); }
  friend Integer operator&(Integer a, Integer b) { return {a.value & b.value}; }
  friend Integer operator|(Integer a, Integer b) { return {a.value | b.value}; }
};
struct Number {
  float value;
  friend Number operator+(Number a, Number b) { return {a.value + b.value}; }
  friend Number operator-(Number a, Number b) { return {a.value - b.value}; }
  friend Number operator*(Number a, Number b) { return {math::detail::rounded(a.value * b.value)}; }
  friend Number operator/(Number a, Number b) {
    double const exact = static_cast<double>(a.value) / static_cast<double>(b.value);
    return {with_error(exact, b.value == 1 ? 0 : errors.quotient)};
  }
  friend bool operator<(Number a, Number b) { return a.value < b.value; }
  friend bool operator==(Number a, Number b) { return a.value == b.value; }
};
Number sqrt(Number a) { return {with_error(std::sqrt(static_cast<double>(a.value)), errors.root)}; }
Number multiply_add(Number a, Number b, Number c) { return {std::fma(a.value, b.value, c.value)}; }
Number abs(Number a) { return {std::fabs(a.value)}; }
Number power_of_2(Number a) {
  double const exact = std::exp2(static_cast<double>(a.value));
  return {exact < 0x1p-126 ? 0 : flushed(with_error(exact, errors.power))};
}
Number reciprocal(Number a) {
  return {flushed(with_error(1 / static_cast<double>(flushed(a.value)), errors.reciprocal))};
}
Integer to_bits(Number a) { return {std::bit_cast<std::int32_t>(a.value)}; }
Number from_bits(Integer a) { return {std::bit_cast<float>(a.value)}; }
Number like(Number, double constant) { return {static_cast<float>(constant)}; }
Integer like(Integer, std::int64_t constant) { return {static_cast<std::int32_t>(constant)}; }
template <int amount>
Integer shl(Integer a) {
  return Integer::wrap(a.bits() << amount);
}
template <int amount>
Integer shr(Integer a) {
  return {a.value >> amount};
}
Number select(bool condition, Number a, Number b) { return condition ? a : b; }

using Formula = Number (*)(Number);
struct Row {
  char const* name;
  double bound;
  Formula formula;  ///< null: an instruction, or by f64
};

constexpr bool uses_f64(std::string_view name) { return name == "sin" || name == "cos"; }

#define TEGULA_FORMULA_units(name) [](Number x) { return math::name##_units(x); }
#define TEGULA_FORMULA_expansion(name) \
  []<class V>(V x) -> V {              \
    if constexpr (uses_f64(#name))     \
      return x;                        \
    else                               \
      return math::name##_f32(x);      \
  }
#define TEGULA_FORMULA_native(name) nullptr
#define TEGULA_FORMULA_coarse(name) nullptr
std::vector<Row> rows() {
  return {
#define TEGULA_EXPANDED(op, name, device, f32, f64, gpu) {#name, gpu, TEGULA_FORMULA_##device(name)},
#include "tegula/math/elementary.def"
  };
}

double error_of(float found, double exact) {
  double const limit = 0x1p128;  // infinity counts as the number that follows the greatest
  if (std::isnan(exact) || std::isnan(found)) return std::isnan(exact) && std::isnan(found) ? 0 : HUGE_VAL;
  if (std::signbit(found) != std::signbit(exact) && (found == 0 || exact == 0)) return HUGE_VAL;
  double const near = std::clamp(exact, -limit, limit), value = std::clamp(static_cast<double>(found), -limit, limit);
  return std::fabs(value - near) / unit_at(near);
}

}  // namespace

TEST_CASE("formulas of GPUs keep the bounds of their rows on the worst hardware that NVIDIA states", "[math]") {
  std::vector<Row> const all = rows();
  for (tegula::test::ElementaryRow const& row : tegula::test::elementary_rows) {
    auto const found =
        std::find_if(all.begin(), all.end(), [&](Row const& one) { return one.name == std::string_view(row.name); });
    if (found == all.end() || found->formula == nullptr || uses_f64(row.name)) continue;
    double worst = 0;
    float at = 0;
    auto const look = [&](std::uint32_t bits, double exact) {
      auto const x = std::bit_cast<float>(bits);
      double const error = error_of(found->formula({x}).value, exact);
      if (!(error <= worst)) worst = error, at = x;
    };
    std::vector<std::uint32_t> places = {0,          0x80000000, 1,          0x80000001, 0x7F7FFFFF,
                                         0xFF7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000};
    for (std::uint64_t bits = 0; bits < std::uint64_t{1} << 32; bits += 69997)
      places.push_back(static_cast<std::uint32_t>(bits));
    for (std::uint32_t const bits : places) {
      auto const exact = static_cast<double>(row.exact(static_cast<long double>(std::bit_cast<float>(bits))));
      for (int signs = 0; signs < 9; ++signs) {
        auto const sign = [&](int bit) { return signs == 8 ? 0.0 : (signs >> bit & 1) == 0 ? -1.0 : 1.0; };
        errors = {1.5 * sign(0), 1.5 * sign(1), 0.5 * sign(1), 0.5 * sign(2)};
        look(bits, exact);
      }
    }
    INFO(row.name << ": " << worst << " ulp at " << at);
    CHECK(worst <= found->bound);
  }
}

// Tests the error bounds of elementary.def, against MPFR's correctly rounded functions.
#include "support/catch.hpp"

#if TEGULA_HAS_MPFR
#include <mpfr.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "tegula/math/functions.hpp"

namespace math = tegula::math;
using tegula::Element;

namespace {

// Returns MPFR's names of functions that the rows name differently.
int mpfr_rint_sqrt(mpfr_ptr to, mpfr_srcptr x, mpfr_rnd_t mode) { return mpfr_sqrt(to, x, mode); }
int mpfr_rsqrt(mpfr_ptr to, mpfr_srcptr x, mpfr_rnd_t mode) {
  int const result = mpfr_rec_sqrt(to, x, mode);
  if (mpfr_zero_p(x) != 0) mpfr_set_inf(to, mpfr_signbit(x) != 0 ? -1 : 1);  // IEEE 754 keeps the sign
  return result;
}

int mpfr_fast_tanh(mpfr_ptr to, mpfr_srcptr x, mpfr_rnd_t mode) { return mpfr_tanh(to, x, mode); }

int mpfr_sigmoid(mpfr_ptr to, mpfr_srcptr x, mpfr_rnd_t mode) {
  mpfr_t power;
  mpfr_init2(power, 400);
  mpfr_neg(power, x, mode);
  mpfr_exp(power, power, mode);
  mpfr_add_ui(power, power, 1, mode);
  int const result = mpfr_ui_div(to, 1, power, mode);
  mpfr_clear(power);
  return result;
}

using Exact = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t);
using Exact2 = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_srcptr, mpfr_rnd_t);

struct Row {
  char const* name;
  float (*f32)(float);
  double (*f64)(double);
  Exact exact;
  double bound_f32, bound_f64;
};

constexpr double half_ulp = 0.5;
constexpr Row rows[] = {
#define TEGULA_EXACT(op, name, intrinsic, gpu) \
  {#name, &math::name, &math::name, &mpfr_rint_##intrinsic, half_ulp, half_ulp},
#define TEGULA_EXPANDED(op, name, device, f32, f64, gpu) {#name, &math::name, &math::name, &mpfr_##name, f32, f64},
#include "tegula/math/elementary.def"
};

struct Row2 {
  char const* name;
  float (*f32)(float, float);
  double (*f64)(double, double);
  Exact2 exact;
  double bound_f32, bound_f64;
};
constexpr Row2 rows_2[] = {
#define TEGULA_EXPANDED_2(op, name, f32, f64, gpu) {#name, &math::name, &math::name, &mpfr_##name, f32, f64},
#include "tegula/math/elementary.def"
};

/// Describes a float format: bits of its significand and the exponent of its least number.
struct Format {
  int precision;
  int min;
};
constexpr Format of_f32{24, -149}, of_f64{53, -1074}, of_f16{11, -24}, of_bf16{8, -133};

/// Holds the exact value of a function and the error of the found one.
class Reference {
 public:
  Reference() {
    mpfr_init2(x_, 53);
    mpfr_init2(y_, 53);
    mpfr_init2(exact_, 160);
    mpfr_init2(difference_, 160);
  }
  ~Reference() {
    mpfr_clear(x_);
    mpfr_clear(y_);
    mpfr_clear(exact_);
    mpfr_clear(difference_);
  }
  Reference(Reference const&) = delete;
  Reference& operator=(Reference const&) = delete;

  void evaluate(Exact function, double x) {
    mpfr_set_d(x_, x, MPFR_RNDN);
    function(exact_, x_, MPFR_RNDN);
  }

  void evaluate(Exact2 function, double x, double y) {
    mpfr_set_d(x_, x, MPFR_RNDN);
    mpfr_set_d(y_, y, MPFR_RNDN);
    function(exact_, x_, y_, MPFR_RNDN);
  }

  /// Returns the error in units of the last place of the exact value. It is infinite where one alone is NaN, or
  /// infinite, or a zero of the other sign. An exact value above the greatest number counts as infinity, one below may
  /// be rounded up to it.
  double error(double found, Format format, double max) {
    double const infinity = std::numeric_limits<double>::infinity();
    if (mpfr_nan_p(exact_) != 0 || std::isnan(found))
      return mpfr_nan_p(exact_) != 0 && std::isnan(found) ? 0 : infinity;
    if (mpfr_inf_p(exact_) != 0) return std::isinf(found) && (found < 0) == (mpfr_sgn(exact_) < 0) ? 0 : infinity;
    if (std::signbit(found) != (mpfr_signbit(exact_) != 0) && (found == 0 || mpfr_zero_p(exact_) != 0)) return infinity;
    double number = found;
    if (std::isinf(found)) {  // as the number that would follow the greatest
      int top = 0;
      std::frexp(max, &top);
      if (top == 1024) return mpfr_cmpabs_ui_2exp(1024) >= 0 ? 0 : infinity;
      number = std::copysign(std::ldexp(1.0, top), found);
      if (mpfr_cmpabs_ui_2exp(top) >= 0) return 0;
    }
    mpfr_d_sub(difference_, number, exact_, MPFR_RNDN);
    long const top = mpfr_zero_p(exact_) != 0 ? format.min : mpfr_get_exp(exact_);
    long const unit = std::max<long>(top - format.precision, format.min);
    mpfr_mul_2si(difference_, difference_, -unit, MPFR_RNDN);
    return std::fabs(mpfr_get_d(difference_, MPFR_RNDN));
  }

 private:
  /// Compares the exact value's magnitude with 2^exponent, within the error of rounding to nearest.
  int mpfr_cmpabs_ui_2exp(int exponent) {
    mpfr_set_ui_2exp(difference_, 1, exponent, MPFR_RNDN);
    mpfr_mul_d(difference_, difference_, 1 - 0x1p-22, MPFR_RNDN);
    return mpfr_cmpabs(exact_, difference_);
  }

  mpfr_t x_, y_, exact_, difference_;
};

/// Holds the worst place of a function.
struct Worst {
  double error = 0;
  double at = 0;
  double found = 0;
  void add(double one, double x, double value) {
    if (!(one <= error)) *this = {one, x, value};
  }
};

void check(Row const& row, char const* element, Worst const& worst, double bound) {
  INFO(row.name << " of " << element << ": " << worst.error << " ulp at " << worst.at << ", found " << worst.found);
  CHECK(worst.error <= bound);
}

template <class T>
using BitsOf = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;

/// Places of both signs where a formula changes or a format ends, and some neighbours of each.
template <class T>
std::vector<T> special_places() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> places = {T(0), Limits::infinity(), Limits::quiet_NaN()};
  std::vector<double> centres = {
      Limits::denorm_min(), Limits::min(), Limits::max(), 1e-300, 0x1p-27, 0x1p-12, 0.25, 0.34657359, 0.5, 0.625,
      2.0 / 3, 0.70710678118654752, 1, 1.5, 2, 2.5, 3, 4, 6, 9.01, 10, 19.06, 20, 88.7228, 103.97, 127, 128, 149.5,
      709.78, 745.13, 1023, 1024, 1074, 0x1p22, 0x1p23, 0x1p24, 0x1p31, 0x1p51, 0x1p52, 0x1p53, 0x1p63, 1e22,
      // Near multiples of pi / 2: the hardest of all f64, and large ones of f32.
      6381956970095103.0 * 0x1p797, 5.319372648326541e255, 16367173 * 0x1p72, 0x1.6ac5b262ca1ffp+849, 1.7179869184e10};
  for (int i = 1; i < 200; ++i) centres.push_back(i * 0.78539816339744831);
  // Centres where the reduction of sin and cos drops digits.
  for (int shift : {1, 2, 4, 8, 16, 32})
    for (int precision : {24, 53}) centres.push_back(std::ldexp(1.0, 25 * shift + precision + 1));
  for (double const centre : centres) {
    T const x = static_cast<T>(centre);
    if (!std::isfinite(x)) continue;
    auto const bits = std::bit_cast<BitsOf<T>>(x);
    for (int i = -20; i <= 20; ++i) {
      if (i < 0 && bits < static_cast<BitsOf<T>>(-i)) continue;
      T const near = std::bit_cast<T>(static_cast<BitsOf<T>>(bits + static_cast<BitsOf<T>>(i)));
      places.push_back(near);
    }
  }
  std::size_t const count = places.size();
  for (std::size_t i = 0; i < count; ++i) places.push_back(-places[i]);
  return places;
}

/// Draws samples: half are any bit pattern, half lie between 2^-6 and 2^7 in magnitude.
template <class T>
T sample(std::mt19937_64& random) {
  auto const bits = static_cast<BitsOf<T>>(random());
  if ((random() & 1) != 0) return std::bit_cast<T>(bits);
  T const mantissa = 1 + static_cast<T>(random() >> 11) * T(0x1p-53);
  T const magnitude = std::ldexp(mantissa, static_cast<int>(random() % 13) - 6);
  return (random() & 1) != 0 ? -magnitude : magnitude;
}

template <class T, class Function>
Worst sweep(Row const& row, Function function, Format format, int samples) {
  Reference reference;
  Worst worst;
  auto const at = [&](T x) {
    T const found = function(x);
    reference.evaluate(row.exact, static_cast<double>(x));
    double const max = static_cast<double>(std::numeric_limits<T>::max());
    worst.add(reference.error(static_cast<double>(found), format, max), static_cast<double>(x),
              static_cast<double>(found));
  };
  for (T const x : special_places<T>()) at(x);
  std::mt19937_64 random(11);
  for (int i = 0; i < samples; ++i) at(sample<T>(random));
  return worst;
}

/// Places of both signs at which a function of two numbers has special cases.
template <class T>
std::vector<T> special_places_2() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> places = {T(0),          Limits::infinity(), Limits::quiet_NaN(), Limits::denorm_min(),
                           Limits::min(), Limits::max()};
  for (double const centre : {0.1, 0.25,  0.41421356, 0.5,   1.0,    1.5,    2.0,    2.41421356, 2.5,    3.0,   7.0,
                              8.0, 100.0, 1e10,       1e-20, 0x1p22, 0x1p23, 0x1p24, 0x1p52,     0x1p53, 0x1p63})
    for (double const near : {-1.0, 0.0, 1.0})
      places.push_back(static_cast<T>(centre) * (T(1) + static_cast<T>(near) * Limits::epsilon()));
  std::size_t const count = places.size();
  for (std::size_t i = 0; i < count; ++i) places.push_back(-places[i]);
  return places;
}

/// Checks a function of two numbers: every pair of special places, and random pairs. Half of these have powers within
/// the format.
template <class T>
void check_2(Row2 const& row, T (*function)(T, T), Format format, int samples, double bound) {
  Reference reference;
  double worst = 0;
  T worst_x = 0, worst_y = 0;
  auto const at = [&](T x, T y) {
    T const found = function(x, y);
    reference.evaluate(row.exact, static_cast<double>(x), static_cast<double>(y));
    double const error =
        reference.error(static_cast<double>(found), format, static_cast<double>(std::numeric_limits<T>::max()));
    if (error <= worst) return;
    worst = error;
    worst_x = x;
    worst_y = y;
  };
  for (T const x : special_places_2<T>())
    for (T const y : special_places_2<T>()) at(x, y);
  std::mt19937_64 random(12);
  for (int i = 0; i < samples; ++i) {
    T const x = sample<T>(random), y = sample<T>(random);
    at(x, y);
    T const exponent =
        static_cast<T>(static_cast<int>(random() % 2001) - 1000) * T(0.001) * static_cast<T>(-format.min);
    at(std::fabs(x), exponent / std::log2(std::fabs(x)));
  }
  INFO(row.name << ": " << worst << " ulp at " << worst_x << ", " << worst_y);
  CHECK(worst <= bound);
}

}  // namespace

TEST_CASE("functions of two floats keep the bounds of their rows, and C's special cases", "[math]") {
  for (Row2 const& row : rows_2) {
    check_2<float>(row, row.f32, of_f32, 50000, row.bound_f32);
    check_2<double>(row, row.f64, of_f64, 30000, row.bound_f64);
  }
}

TEST_CASE("f32 functions keep the bounds of their rows", "[math]") {
  for (Row const& row : rows) check(row, "f32", sweep<float>(row, row.f32, of_f32, 100000), row.bound_f32);
}

TEST_CASE("f64 functions keep the bounds of their rows", "[math]") {
  for (Row const& row : rows) check(row, "f64", sweep<double>(row, row.f64, of_f64, 40000), row.bound_f64);
}

TEST_CASE("every f16 and bf16 is rounded once from f32", "[math]") {
  Reference reference;
  for (Row const& row : rows)
    for (Element const element : {Element::f16, Element::bf16}) {
      Format const format = element == Element::f16 ? of_f16 : of_bf16;
      Worst worst;
      for (std::uint32_t bits = 0; bits < 65536; ++bits) {
        float const x = math::narrow_value(element, static_cast<std::uint16_t>(bits));
        float const found = math::narrow_value(element, math::narrow_bits(element, row.f32(x)));
        reference.evaluate(row.exact, static_cast<double>(x));
        double const max = element == Element::f16 ? 65504 : 0x1.FEp127;
        worst.add(reference.error(static_cast<double>(found), format, max), static_cast<double>(x),
                  static_cast<double>(found));
      }
      // The error of f32 counts for that much of a unit of the narrow format.
      check(row, element == Element::f16 ? "f16" : "bf16", worst,
            half_ulp + std::ldexp(row.bound_f32, format.precision - of_f32.precision));
    }
}

#else

TEST_CASE("functions keep the bounds of their rows", "[math]") {
  TEGULA_SKIP("MPFR was not found when this was configured: install libmpfr-dev, or run ./dev setup");
}

#endif

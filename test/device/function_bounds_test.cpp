// Measures the errors of functions, roots and quotients of f32 against f64: functions of every f32, quotients of all
// significands by many divisors. One run prints the worst error of each, and the operands at which it is.
#include <cmath>
#include <cstdio>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "support/elementary.hpp"
#include "kernels/indexed_kernels.hpp"

using namespace tegula;
using namespace tegula::test;

namespace {

constexpr std::int64_t width = 4096;      ///< significands of a tile
constexpr std::int64_t binade = 1 << 23;  ///< significands between two powers of 2
constexpr std::size_t rows = std::size(elementary_rows);

/// Returns function number `row` of elementary.def; the number of rows gives the reciprocal, by a quotient.
template <std::size_t row, class T>
auto function_of(T const& x) {
  constexpr std::string_view name = row < rows ? elementary_rows[row < rows ? row : 0].name : "reciprocal";
#define TEGULA_EXACT(op, function, ...) \
  if constexpr (name == #function) return tegula::function(x);
#define TEGULA_EXPANDED TEGULA_EXACT
#include "tegula/math/elementary.def"
  if constexpr (name == "reciprocal") return 1 / x;
}

/// Returns the error in ulp of f32; infinity where one alone is NaN, or zeros have different signs. Infinity counts as
/// 2^128.
template <class F, class D>
auto error_in_ulp(F const& found, D const& exact) {
  tile y = cast<double>(found);
  tile near = min(max(exact, -0x1p128), 0x1p128);
  tile value = min(max(y, -0x1p128), 0x1p128);
  // The power of 2 below a number is the rounding error of its product with 2^52 + 1 (Rump). The comparison keeps the
  // second product rounded.
  tile large = abs(near) * (0x1p52 + 1);
  tile less = large * (1 - 0x1p-53);
  tile power = select(less < large, large - less, 0);
  tile error = abs(value - near) / max(power * 0x1p-23, 0x1p-149);
  tile signs = (exact == 0) & (y == 0) & (1 / y != 1 / exact);
  tile kinds = (found != found) != (exact != exact);
  return cast<float>(select(signs | kinds, inf, select(exact != exact, 0, error)));
}

/// Finds the worst error of each tile. Row i has the numbers (base[i] + m / 2^23) * scale[i]; `step` leaves tiles out.
template <std::size_t row>
inline constexpr auto worst_of = kernel("worst_of", [](in<float, 1> base, in<float, 1> scale, arg<std::int64_t> step,
                                                       out<float, 2> worst, out<int, 2> at) {
  auto g = grid_over(worst, shape<1, 1>);
  tile m = cast<float>(iota(shape<1, width>, axis<1>) + g[1] * step * width);
  tile x = (m * 0x1p-23F + load(base, g[0])) * load(scale, g[0]);
  tile wide = cast<double>(x);
  tile found = function_of<row>(x);
  tile exact = function_of<row>(wide);
  tile error = error_in_ulp(found, exact);
  store(worst, shape<1, 1>, max(error, axis<1>), g[0], g[1]);
  store(at, shape<1, 1>, argmax(error, axis<1>), g[0], g[1]);
});

/// Does so for quotients of (1 + m / 2^23) * scale[i] by divisor[i].
inline constexpr auto worst_quotients =
    kernel("worst_quotients",
           [](in<float, 1> divisor, in<float, 1> scale, arg<std::int64_t> step, out<float, 2> worst, out<int, 2> at) {
             auto g = grid_over(worst, shape<1, 1>);
             tile m = cast<float>(iota(shape<1, width>, axis<1>) + g[1] * step * width);
             tile x = (m * 0x1p-23F + 1) * load(scale, g[0]);
             tile by = full(shape<1, width>, load(divisor, g[0]));
             tile found = x / by;
             tile exact = cast<double>(x) / cast<double>(by);
             tile error = error_in_ulp(found, exact);
             store(worst, shape<1, 1>, max(error, axis<1>), g[0], g[1]);
             store(at, shape<1, 1>, argmax(error, axis<1>), g[0], g[1]);
           });

/// Describes which numbers are measured.
struct Sweep {
  Executor on;
  int least, greatest;  ///< exponents
  std::int64_t step;    ///< 1: all significands
};

struct Worst {
  double error = 0;
  std::size_t row = 0;
  std::int64_t significand = 0;
};

/// Runs a kernel on rows of numbers that are described by two tensors.
template <class K>
Worst measure(K const& kernel, Sweep const& sweep, std::vector<float> const& first, std::vector<float> const& second) {
  Array<float, 1> a = array_of(first), b = array_of(second);
  auto const count = static_cast<std::int64_t>(first.size());
  std::int64_t const tiles = binade / width / sweep.step;
  Array<float, 2> worst({count, tiles}, -1);
  Array<int, 2> at({count, tiles}, -1);
  std::int64_t const step = sweep.step;
  TEGULA_CHECK_RUN(sweep.on, kernel, a, b, step, worst, at);
  Worst result;
  for (std::int64_t i = 0; i < count * tiles; ++i) {
    auto const error = static_cast<double>(worst[i]);
    REQUIRE(error >= 0);
    if (error > result.error) result = {error, static_cast<std::size_t>(i / tiles), i % tiles * step * width + at[i]};
  }
  return result;
}

/// Prints a worst error and the operands at which it is, and returns it as text.
std::string report(std::string const& name, double bound, double error, std::vector<float> const& operands) {
  char text[256];
  int size = std::snprintf(text, sizeof text, "%-10s bound %7.2f worst %12.6f ulp%s at", name.c_str(), bound, error,
                           error <= bound ? "" : " MISSED");
  for (float const operand : operands)
    size += std::snprintf(text + size, sizeof text - static_cast<std::size_t>(size), " %a (%.9g)",
                          static_cast<double>(operand), static_cast<double>(operand));
  std::printf("%s\n", text);
  std::fflush(stdout);
  return text;
}

template <std::size_t row>
void measure_function(Sweep const& sweep, std::vector<std::string>& missed) {
  std::vector<float> base, scale;
  for (float const sign : {1.0F, -1.0F}) {
    for (int exponent = sweep.least; exponent <= sweep.greatest; ++exponent)
      base.push_back(1), scale.push_back(std::ldexp(sign, exponent));
    base.push_back(0), scale.push_back(std::ldexp(sign, -126));  // 0 and subnormal numbers
    base.push_back(1), scale.push_back(sign * std::numeric_limits<float>::infinity());
  }
  base.push_back(1), scale.push_back(std::numeric_limits<float>::quiet_NaN());
  Worst const worst = measure(worst_of<row>, sweep, base, scale);
  float const at = (base[worst.row] + static_cast<float>(worst.significand) * 0x1p-23F) * scale[worst.row];
  bool const device = sweep.on == Executor::device;
  double bound = device ? 2 : 0.5;
  std::string name = "1 / x";
  if constexpr (row < rows) {
    ElementaryRow const& function = elementary_rows[row];
    bound = device ? function.bound_gpu : function.bound_f32;
    if (device && function.coarse) bound = 0x1p13;
    name = function.name;
  }
  std::string const text = report(name, bound, worst.error, {at});
  if (!(worst.error <= bound + 1e-6)) missed.push_back(text);
}

template <std::size_t... row>
void measure_functions(Sweep const& sweep, std::vector<std::string>& missed, std::index_sequence<row...>) {
  (measure_function<row>(sweep, missed), ...);
}

/// Divides two binades of numbers by each divisor: of every magnitude, most of them between 1 and 2.
void measure_quotients(Sweep const& sweep, int divisors, std::vector<std::string>& missed) {
  std::vector<float> divisor, scale;
  std::mt19937_64 random(21);
  auto const add = [&](float by, int exponent) {
    for (int i = 0; i < 2; ++i) divisor.push_back(by), scale.push_back(std::ldexp(1.0F, exponent + i));
  };
  for (int i = 0; i < divisors; ++i) {
    float const significand = 1 + static_cast<float>(random() % binade) * 0x1p-23F;
    add(significand, 0);
    int const exponent = static_cast<int>(random() % 277) - 149;
    add(std::ldexp(i % 2 == 0 ? significand : -significand, exponent), static_cast<int>(random() % 252) - 126);
  }
  for (float const by : {1.0F, 3.0F, 0.1F, 0x1.fffffep0F, 0x1.000002p0F, 0x1p126F, 0x1.8p126F, 0x1.fffffep127F,
                         0x1p-126F, 0x1.fffffcp-127F, 0x1p-149F, 0.0F, std::numeric_limits<float>::infinity()})
    for (int const exponent : {-126, -60, 0, 60, 126}) add(by, exponent);
  Worst const worst = measure(worst_quotients, sweep, divisor, scale);
  float const x = (1 + static_cast<float>(worst.significand) * 0x1p-23F) * scale[worst.row];
  double const bound = sweep.on == Executor::device ? 2 : 0.5;
  std::string const text = report("x / y", bound, worst.error, {x, divisor[worst.row]});
  if (!(worst.error <= bound + 1e-6)) missed.push_back(text);
}

void check_bounds(Sweep const& sweep, int divisors) {
  std::vector<std::string> missed;
  measure_functions(sweep, missed, std::make_index_sequence<rows + 1>());
  measure_quotients(sweep, divisors, missed);
  std::string all;
  for (std::string const& text : missed) all += text + "\n";
  INFO(all);
  CHECK(missed.empty());
}

}  // namespace

TEST_CASE("functions of every f32, and quotients, keep their bounds on a device", "[device]") {
  if (device::cuda_count() == 0) TEGULA_SKIP(device::cuda_status().c_str());
  check_bounds({Executor::device, -126, 127, 1}, 128);
}

TEST_CASE("the measure of errors finds those of hosts") { check_bounds({Executor::host, -1, 3, 256}, 2); }

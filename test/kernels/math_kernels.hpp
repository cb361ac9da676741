// Checks the functions of elementary.def by their words in kernels, on any executor, against the C library's.
#pragma once

#include <cmath>

#include "support/elementary.hpp"
#include "kernels/indexed_kernels.hpp"

namespace tegula::test {

/// Computes every function of one float, a row of the result each.
template <class T>
inline constexpr auto functions_of_one = kernel("functions_of_one", [](in<T, 1> x, out<T, 2> y) {
  auto g = grid_over(x, shape<128>);
  tile v = load(x, shape<128>, g[0]);
  int row = 0;
#define TEGULA_EXACT(op, name, ...) store(y, shape<1, 128>, expand_dims(tegula::name(v), axis<0>), row++, g[0]);
#define TEGULA_EXPANDED TEGULA_EXACT
#include "tegula/math/elementary.def"
});
/// Computes every function of two floats.
template <class T>
inline constexpr auto functions_of_two = kernel("functions_of_two", [](in<T, 1> a, in<T, 1> b, out<T, 2> y) {
  auto g = grid_over(a, shape<128>);
  tile u = load(a, shape<128>, g[0]), v = load(b, shape<128>, g[0]);
  int row = 0;
#define TEGULA_EXPANDED_2(op, name, ...) store(y, shape<1, 128>, expand_dims(tegula::name(u, v), axis<0>), row++, g[0]);
#include "tegula/math/elementary.def"
});

/// Returns the error of a value in units of the last place of T; infinite where one alone is NaN or infinite.
template <class T>
double error_in_ulp(T found, long double exact) {
  auto const value = static_cast<double>(found);
  auto const rounded = static_cast<double>(T(static_cast<double>(exact)));
  if (std::isnan(rounded) || std::isnan(value)) return std::isnan(rounded) && std::isnan(value) ? 0 : HUGE_VAL;
  if (std::isinf(rounded) || std::isinf(value)) return rounded == value ? 0 : HUGE_VAL;
  ElementInfo const& format = info(element_of<T>::value);
  int const min = sizeof(T) == 8 ? -1074 : sizeof(T) == 4 ? -149 : std::is_same_v<T, bf16> ? -133 : -24;
  int exponent = 0;
  std::frexp(exact, &exponent);
  long double const unit = std::ldexp(1.0L, std::max(exponent - format.mantissa - 1, min));
  return static_cast<double>(std::abs(static_cast<long double>(value) - exact) / unit);
}
/// Returns the bound of a row for T, and a little more, since the C library rounds too.
template <class T, class Row>
double bound_of(Row const& row, Executor on, bool coarse = false) {
  if (coarse && on == Executor::device && sizeof(T) < 8)
    return 0.52 + std::ldexp(1.0, info(element_of<T>::value).mantissa + 1 - 11);
  if (sizeof(T) == 2) return 0.52;
  if (sizeof(T) == 8) return 0.01 + row.bound_f64;
  constexpr double of_fewest_bits = 2;  // simulators give the fewest bits that an attribute allows
  if (on == Executor::warps) return 0.01 + row.bound_gpu + of_fewest_bits;
  return 0.01 + (on == Executor::device ? row.bound_gpu : row.bound_f32);
}

/// Draws numbers of many magnitudes, most of them where functions have finite values.
template <class T>
T draw_argument() {
  std::int64_t const kind = draw_below(24);
  double const sign = draw_below(2) == 0 ? 1 : -1;
  if (kind == 0) return T(sign * 0.0);
  if (kind == 1) return T(sign * static_cast<double>(draw_below(5)));
  if (kind == 2) return T(std::nan(""));
  double const fraction = static_cast<double>(draw_below(1 << 30)) / (1 << 30);
  if (kind < 6) return T(sign * std::ldexp(1 + fraction, static_cast<int>(draw_below(24)) - 18));
  return T(sign * fraction * (kind < 16 ? 1.25 : 30));
}

template <class T>
void check_functions(Executor on) {
  std::int64_t const count = 384;
  constexpr std::int64_t rows = std::size(elementary_rows), rows_2 = std::size(elementary_rows_2);
  Array<T, 1> x({count}), z({count});
  Array<T, 2> y({rows, count}), w({rows_2, count});
  for (T& v : x.values) v = draw_argument<T>();
  for (T& v : z.values) v = draw_argument<T>();
  auto const number = [](T v) { return static_cast<long double>(static_cast<double>(v)); };
  TEGULA_CHECK_RUN(on, functions_of_one<T>, x, y);
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t i = 0; i < count; ++i) {
      ElementaryRow const& function = elementary_rows[row];
      double const error = error_in_ulp(y[row * count + i], function.exact(number(x[i])));
      INFO(function.name << "(" << static_cast<double>(x[i]) << "): " << static_cast<double>(y[row * count + i]));
      REQUIRE(error <= bound_of<T>(function, on, function.coarse));
    }
  TEGULA_CHECK_RUN(on, functions_of_two<T>, x, z, w);
  for (std::int64_t row = 0; row < rows_2; ++row)
    for (std::int64_t i = 0; i < count; ++i) {
      ElementaryRow2 const& function = elementary_rows_2[row];
      double const error = error_in_ulp(w[row * count + i], function.exact(number(x[i]), number(z[i])));
      INFO(function.name << "(" << static_cast<double>(x[i]) << ", " << static_cast<double>(z[i])
                         << "): " << static_cast<double>(w[row * count + i]));
      REQUIRE(error <= bound_of<T>(function, on));
    }
}

}  // namespace tegula::test

// Checks softmax of rows on any executor against float64: rows that a warp, a CTA or a cluster holds, with numbers far
// apart, infinities and NaN.
#pragma once

#include <cmath>
#include <limits>

#include "kernels/indexed_kernels.hpp"

namespace tegula::test {

/// Computes the shares of each row, its maximum, and the logarithm of its sum of exponentials.
template <class T, int width>
inline constexpr auto row_shares = kernel("row_shares",
                                          [](in<T, 2> x, out<T, 2> y, out<float, 1> tops, out<float, 1> logarithms) {
                                            auto g = grid_over(y, shape<1, width>);
                                            tile v = cast<float>(load(x, shape<width>, g[0], 0, pad(-inf)));
                                            tile top = max(v, axis<0>);
                                            tile e = exp(v - top);
                                            tile total = sum(e, axis<0>);
                                            store(y, shape<width>, cast<T>(e / total), g[0], 0);
                                            store(tops, shape<1>, top, g[0]);
                                            store(logarithms, shape<1>, top + log(total), g[0]);
                                          });

/// Fills row i with numbers of its kind: random ones, a slope over the row, a few among -inf, a half of -inf, one
/// number, +inf, NaN, none.
template <class T>
void fill_row(T* row, std::int64_t columns, std::int64_t kind) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  auto const draw = [] { return static_cast<float>(static_cast<int>(indexed_engine()() % 4001) - 2000) * 0.005F; };
  for (std::int64_t j = 0; j < columns; ++j) {
    float const random = draw();
    bool const is_hidden =
        (kind == 2 && j % 97 != 5) || (kind == 3 && j < columns / 2) || (kind == 4 && j != columns - 3) || kind == 7;
    float const slope = kind == 1 ? static_cast<float>(j * 300 / columns) : 0.F;
    row[j] = static_cast<T>(is_hidden ? -infinity : random + slope);
  }
  if (kind == 5) row[columns / 3] = static_cast<T>(infinity);
  if (kind == 6) row[columns / 3] = static_cast<T>(std::nanf(""));
}

template <class T, int width>
void check_row_shares(Executor on, std::int64_t columns) {
  constexpr std::int64_t rows = 8;
  INFO(rows << " x " << columns << " in tiles of " << width);
  Array<T, 2> x({rows, columns}), y({rows, columns});
  Array<float, 1> tops({rows}), logarithms({rows});
  for (std::int64_t i = 0; i < rows; ++i) fill_row(&x[i * columns], columns, i);
  TEGULA_CHECK_RUN(on, row_shares<T, width>, x, y, tops, logarithms);
  // A sum of n floats, of which 16 threads or lanes add parts one after another, is off by n / 16 roundings at most.
  double const of_sum = static_cast<double>(columns) * 0x1p-28 + 0x1p-21;
  double const rounding = (sizeof(T) == 2 ? (std::is_same_v<T, bf16> ? 0x1p-8 : 0x1p-11) : 0) + of_sum;
  for (std::int64_t i = 0; i < rows; ++i) {
    INFO("row " << i);
    auto const at = [&](std::int64_t j) { return static_cast<double>(static_cast<float>(x[i * columns + j])); };
    double top = -std::numeric_limits<double>::infinity(), total = 0;
    for (std::int64_t j = 0; j < columns; ++j) top = at(j) > top ? at(j) : top;
    for (std::int64_t j = 0; j < columns; ++j) total += std::exp(at(j) - top);
    REQUIRE(static_cast<double>(tops[i]) == top);
    bool const is_number = std::isfinite(total);
    double const logarithm = top + std::log(total);
    if (is_number)
      REQUIRE(std::abs(static_cast<double>(logarithms[i]) - logarithm) <=
              of_sum + 1e-6 + std::abs(logarithm) * 0x1p-23);
    std::int64_t wrong = 0;
    for (std::int64_t j = 0; j < columns; ++j) {
      auto const found = static_cast<double>(static_cast<float>(y[i * columns + j]));
      double const expected = std::exp(at(j) - top) / total;
      double const bound = 1.1 * rounding * expected + (std::is_same_v<T, f16> ? 0x1p-24 : 0x1p-125);
      bool const right = is_number ? std::abs(found - expected) <= bound : std::isnan(found);
      wrong += right ? 0 : 1;
    }
    REQUIRE(wrong == 0);
  }
}

inline void check_row_shares(Executor on) {
  check_row_shares<float, 512>(on, 509);
  check_row_shares<bf16, 4096>(on, 4096);
  check_row_shares<f16, 16384>(on, 16381);
  check_row_shares<float, 32768>(on, 30000);
  check_row_shares<bf16, 65536>(on, 50008);
}

}  // namespace tegula::test

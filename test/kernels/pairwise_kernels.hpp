// Checks kernels of pairwise sums bit by bit against the tree that their contract states.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>

#include "support/catch.hpp"
#include "kernels/indexed_kernels.hpp"
#include "support/executors.hpp"

namespace tegula::test {

/// Sums rows of `columns` elements, so many rows per tile.
template <class T, std::int64_t rows, std::int64_t columns>
inline constexpr auto row_sums = kernel("row_sums", [](in<T, 2> x, out<T, 2> y) {
  auto g = grid_over(y, shape<rows, 1>);
  store(y, shape<rows, 1>, sum(load(x, shape<rows, columns>, g[0], 0), axis<1>, order::pairwise), g[0], 0);
});

/// Adds up sums of `block` columns each in a loop with so many stages.
template <class T, std::int64_t rows, std::int64_t block, int depth>
inline constexpr auto blocked_sums = kernel("blocked_sums", [](in<T, 2> x, out<T, 2> y) {
  auto g = grid_over(y, shape<rows, 1>);
  tile sums = loop(
      ceil_div(x.extent(1), block), zeros<T>(shape<rows, 1>),
      [&](auto k, auto so_far) { return so_far + sum(load(x, shape<rows, block>, g[0], k), axis<1>, order::pairwise); },
      stages<depth>);
  store(y, shape<rows, 1>, sums, g[0], 0);
});

/// Sums by the contract: adjacent pairs first, an odd last one carried up.
template <class T>
T pairwise_sum(std::vector<T> values) {
  while (values.size() > 1) {
    std::vector<T> pairs;
    for (std::size_t i = 0; i + 1 < values.size(); i += 2) pairs.push_back(values[i] + values[i + 1]);
    if (values.size() % 2 == 1) pairs.push_back(values.back());
    values = std::move(pairs);
  }
  return values.at(0);
}

/// Draws numbers of many sizes, so that nearly every other order gives other bits.
template <class T>
std::vector<T> drawn_numbers(std::int64_t count) {
  std::vector<T> result(static_cast<std::size_t>(count));
  for (T& value : result) {
    double const number = static_cast<double>(static_cast<std::int64_t>(draw_below(2'000'001)) - 1'000'000);
    value = static_cast<T>(std::ldexp(number / 1e6, static_cast<int>(draw_below(9))));
  }
  return result;
}

template <class T>
bool same_bits(T const& a, T const& b) {
  return std::memcmp(&a, &b, sizeof(T)) == 0;
}

/// Compares sums of one extent, by tiles of several numbers of rows, with the contract.
template <class T, std::int64_t columns>
void check_row_sums(Executor on) {
  constexpr std::int64_t count = 21;
  Array<T, 2> x({count, columns});
  x.values = drawn_numbers<T>(count * columns);
  if (columns > 1)
    for (std::int64_t i = 0; i < columns; ++i) x[i] = T(-0.0F);  // their sum is -0
  auto const check = [&](auto const& kernel) {
    Array<T, 2> y({count, 1}, T(7));
    TEGULA_CHECK_RUN(on, kernel, x, y);
    for (std::int64_t row = 0; row < count; ++row) {
      auto const from = x.values.begin() + static_cast<std::ptrdiff_t>(row * columns);
      INFO(columns << " columns, row " << row);
      REQUIRE(same_bits(y[row], pairwise_sum(std::vector<T>(from, from + columns))));
    }
  };
  check(row_sums<T, 1, columns>);
  check(row_sums<T, 4, columns>);
  check(row_sums<T, 16, columns>);
}

/// Compares sums over blocks of 64 columns, by loops of several depths and tiles of several numbers of rows.
inline void check_blocked_sums(Executor on) {
  constexpr std::int64_t count = 70, columns = 300, block = 64;
  Array<float, 2> x({count, columns});
  x.values = drawn_numbers<float>(count * columns);
  auto const check = [&](auto const& kernel) {
    Array<float, 2> y({count, 1}, 7);
    TEGULA_CHECK_RUN(on, kernel, x, y);
    for (std::int64_t row = 0; row < count; ++row) {
      float expected = 0;
      for (std::int64_t first = 0; first < columns; first += block) {
        std::vector<float> part(block, 0);
        for (std::int64_t i = first; i < std::min(first + block, columns); ++i)
          part[static_cast<std::size_t>(i - first)] = x[row * columns + i];
        expected += pairwise_sum(part);
      }
      INFO("row " << row);
      REQUIRE(same_bits(y[row], expected));
    }
  };
  check(blocked_sums<float, 1, block, 0>);
  check(blocked_sums<float, 8, block, 2>);
  check(blocked_sums<float, 64, block, 4>);
}

inline void check_pairwise_sums(Executor on) {
  check_row_sums<float, 1>(on);
  check_row_sums<float, 11>(on);
  check_row_sums<float, 131>(on);
  check_row_sums<float, 1000>(on);
  check_row_sums<float, 1024>(on);
  check_row_sums<double, 200>(on);
  check_row_sums<double, 96>(on);
  check_blocked_sums(on);
}

}  // namespace tegula::test

// Checks kernels whose sums no warps hold, so that a GPU computes their blocks in parts, on any executor.
#pragma once

#include <algorithm>
#include <cmath>

#include "kernels/indexed_kernels.hpp"

namespace tegula::test {

/// A product whose rows get a bias and the norm 1: rows are divided.
inline constexpr auto normed_rows = kernel("normed_rows", [](in<bf16, 2> a, in<bf16, 2> b, out<float, 2> c) {
  auto g = grid(ceil_div(c.extent(0), 128));
  tile y = loop(
      ceil_div(a.extent(1), 64), zeros<float>(shape<128, 512>),
      [&](auto k, auto sum) { return dot(load(a, shape<128, 64>, g[0], k), load(b, shape<64, 512>, k, 0), sum); },
      stages<2>);
  tile biased = y + cast<float>(iota<int>(shape<128, 1>, axis<0>));
  store(c, shape<128, 512>, biased * rsqrt(sum(biased * biased, axis<1>) + 1.F), g[0], 0);
});

/// Adds a product to what a tensor holds, below the diagonal: each half reads what it writes.
inline constexpr auto lower_onto = kernel("lower_onto", [](in<bf16, 2> a, in<bf16, 2> b, inout<float, 2> c) {
  auto g = grid_over(c, shape<256, 256>);
  tile y = loop(
      ceil_div(a.extent(1), 64), load(c, shape<256, 256>, g[0], g[1]),
      [&](auto k, auto sum) { return dot(load(a, shape<256, 64>, g[0], k), load(b, shape<64, 256>, k, g[1]), sum); },
      stages<2>);
  tile row = g[0] * 256 + iota<std::int64_t>(shape<256, 1>, axis<0>);
  tile column = g[1] * 256 + iota<std::int64_t>(shape<1, 256>, axis<1>);
  store(c, shape<256, 256>, select(row >= column, y, zeros<float>(shape<256, 256>)), g[0], g[1]);
});

/// Finds the largest element of each column of a product's blocks: columns are divided, in four.
inline constexpr auto largest_of_columns = kernel("largest_of_columns", [](in<bf16, 2> a, in<bf16, 2> b,
                                                                           out<float, 2> c) {
  auto g = grid(ceil_div(a.extent(0), 64), ceil_div(b.extent(1), 1024));
  tile y = loop(
      ceil_div(a.extent(1), 32), zeros<float>(shape<64, 1024>),
      [&](auto k, auto sum) { return dot(load(a, shape<64, 32>, g[0], k), load(b, shape<32, 1024>, k, g[1]), sum); },
      stages<2>);
  store(c, shape<1, 1024>, max(y, axis<0>), g[0], g[1]);
});

inline Array<bf16, 2> draw_small(std::int64_t rows, std::int64_t columns) {
  Array<bf16, 2> numbers({rows, columns});
  for (bf16& v : numbers.values) v = bf16(static_cast<float>(draw_below(9)) - 4);
  return numbers;
}

/// Multiplies whole numbers, which no order of the sums rounds.
inline std::vector<double> exact_product(Array<bf16, 2> const& a, Array<bf16, 2> const& b) {
  std::int64_t const rows = a.extents[0], depth = a.extents[1], columns = b.extents[1];
  std::vector<double> c(static_cast<std::size_t>(rows * columns));
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t k = 0; k < depth; ++k)
      for (std::int64_t j = 0; j < columns; ++j)
        c[static_cast<std::size_t>(i * columns + j)] += static_cast<double>(static_cast<float>(a[i * depth + k])) *
                                                        static_cast<double>(static_cast<float>(b[k * columns + j]));
  return c;
}

inline void check_normed_rows(Executor on, std::int64_t rows, std::int64_t columns, std::int64_t depth) {
  Array<bf16, 2> a = draw_small(rows, depth), b = draw_small(depth, columns);
  Array<float, 2> c({rows, columns}, -1);
  TEGULA_CHECK_RUN(on, normed_rows, a, b, c);
  std::vector<double> const y = exact_product(a, b);
  for (std::int64_t i = 0; i < rows; ++i) {
    // A row of the tile has 512 columns: those behind the tensor's hold the bias.
    double const bias = static_cast<double>(i % 128);
    double squares = 1 + static_cast<double>(512 - columns) * bias * bias;
    auto const at = [&](std::int64_t j) { return y[static_cast<std::size_t>(i * columns + j)] + bias; };
    for (std::int64_t j = 0; j < columns; ++j) squares += at(j) * at(j);
    for (std::int64_t j = 0; j < columns; ++j)
      REQUIRE(std::fabs(static_cast<double>(c[i * columns + j]) - at(j) / std::sqrt(squares)) <= 1e-5);
  }
}

inline void check_lower_onto(Executor on, std::int64_t rows, std::int64_t columns, std::int64_t depth) {
  Array<bf16, 2> a = draw_small(rows, depth), b = draw_small(depth, columns);
  Array<float, 2> c({rows, columns});
  for (float& v : c.values) v = static_cast<float>(draw_below(201) - 100);
  std::vector<float> const old = c.values;
  TEGULA_CHECK_RUN(on, lower_onto, a, b, c);
  std::vector<double> const y = exact_product(a, b);
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j) {
      auto const at = static_cast<std::size_t>(i * columns + j);
      REQUIRE(static_cast<double>(c.values[at]) == (i >= j ? static_cast<double>(old[at]) + y[at] : 0));
    }
}

inline void check_largest_of_columns(Executor on, std::int64_t blocks, std::int64_t columns, std::int64_t depth) {
  Array<bf16, 2> a = draw_small(blocks * 64, depth), b = draw_small(depth, columns);
  Array<float, 2> c({blocks, columns}, -1);
  TEGULA_CHECK_RUN(on, largest_of_columns, a, b, c);
  std::vector<double> const y = exact_product(a, b);
  for (std::int64_t block = 0; block < blocks; ++block)
    for (std::int64_t j = 0; j < columns; ++j) {
      double most = y[static_cast<std::size_t>(block * 64 * columns + j)];
      for (std::int64_t i = 1; i < 64; ++i)
        most = std::max(most, y[static_cast<std::size_t>((block * 64 + i) * columns + j)]);
      REQUIRE(static_cast<double>(c[block * columns + j]) == most);
    }
}

/// Checks every kernel of this file.
inline void check_divided(Executor on) {
  check_normed_rows(on, 200, 500, 96);
  check_normed_rows(on, 64, 512, 64);
  check_lower_onto(on, 300, 264, 72);
  check_largest_of_columns(on, 2, 1000, 40);
}

}  // namespace tegula::test

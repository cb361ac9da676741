// Defines kernels that update boxes of a tensor atomically, with the check of each.
#pragma once

#include "kernels/indexed_kernels.hpp"

namespace tegula::test {

/// Changes a box of rows from g[1] * 8 on, and of columns from 16 + g[2] * 4 on, in plane g[0]: the boxes overlap, and
/// the last ones leave the tensor. `operation`: 0 add, 1 min, 2 max.
template <int operation, class T>
inline constexpr auto changed_boxes = kernel("changed_boxes", [](in<T, 3> x, inout<T, 3> y) {
  auto g = grid(y.extent(0), 5, 6);
  tile values = load(x, shape<16, 8>, g[0], g[1], g[2]);
  if constexpr (operation == 0) atomic_add(y, shape<16, 8>, values, g[0], elem(g[1] * 8), elem(g[2] * 4 + 16));
  if constexpr (operation == 1) atomic_min(y, shape<16, 8>, values, g[0], elem(g[1] * 8), elem(g[2] * 4 + 16));
  if constexpr (operation == 2) atomic_max(y, shape<16, 8>, values, g[0], elem(g[1] * 8), elem(g[2] * 4 + 16));
  if constexpr (operation == 0) atomic_add(y, shape<4>, 1, g[0], 0, 0);  // a number, in one row
});

template <int operation, class T>
void check_changed_boxes(Executor on) {
  std::int64_t const planes = 2, rows = 43, columns = 40;
  Array<T, 3> x({planes, 80, 48}), y({planes, rows, columns});
  for (T& v : x.values) v = static_cast<T>(static_cast<int>(draw_below(9)) - 4);
  for (T& v : y.values) v = static_cast<T>(static_cast<int>(draw_below(9)) - 4);
  std::vector<double> expected;
  for (T const v : y.values) expected.push_back(static_cast<double>(v));
  for (std::int64_t plane = 0; plane < planes; ++plane)
    for (std::int64_t i = 0; i < 80; ++i)
      for (std::int64_t j = 0; j < 48; ++j) {
        std::int64_t const row = i / 16 * 8 + i % 16, column = 16 + j / 8 * 4 + j % 8;
        if (row >= rows || column >= columns) continue;
        double& e = expected[static_cast<std::size_t>((plane * rows + row) * columns + column)];
        auto const v = static_cast<double>(x[(plane * 80 + i) * 48 + j]);
        e = operation == 0 ? e + v : operation == 1 ? std::min(e, v) : std::max(e, v);
      }
  if (operation == 0)
    for (std::int64_t plane = 0; plane < planes; ++plane)
      for (std::int64_t j = 0; j < 4; ++j) expected[static_cast<std::size_t>(plane * rows * columns + j)] += 5 * 6;
  TEGULA_CHECK_RUN(on, (changed_boxes<operation, T>), x, y);
  for (std::size_t i = 0; i < expected.size(); ++i) REQUIRE(static_cast<double>(y.values[i]) == expected[i]);
}

/// Adds up a product's parts along K in memory: y += a b, or with `turned` y += (a b)^T. A block takes BK columns of a,
/// in steps of 32, and adds after each step.
template <int BM, int BN, int BK, bool turned>
inline constexpr auto product_in_parts = kernel("product_in_parts", [](in<bf16, 2> a, in<bf16, 2> b,
                                                                       inout<float, 3> y) {
  auto g = grid(ceil_div(a.extent(0), BM), ceil_div(b.extent(1), BN), ceil_div(a.extent(1), BK));
  loop(
      range(g[2] * (BK / 32), min((g[2] + 1) * (BK / 32), ceil_div(a.extent(1), 32))),
      [&](auto k) {
        tile part = dot(load(a, shape<BM, 32>, g[0], k), load(b, shape<32, BN>, k, g[1]));
        if constexpr (turned)
          atomic_add(y, shape<BN, BM>, trans(part), 1, g[1], g[0]);
        else
          atomic_add(y, shape<BM, BN>, part, 1, g[0], g[1]);
      },
      stages<2>);
});

template <int BM, int BN, int BK, bool turned>
void check_product_in_parts(Executor on, std::int64_t m, std::int64_t n, std::int64_t k) {
  INFO("m, n, k = " << m << ", " << n << ", " << k);
  std::int64_t const rows = turned ? n : m, columns = turned ? m : n;
  Array<bf16, 2> a({m, k}), b({k, n});
  Array<float, 3> y({2, rows, columns});
  for (bf16& v : a.values) v = static_cast<bf16>(static_cast<float>(static_cast<int>(draw_below(7)) - 3));
  for (bf16& v : b.values) v = static_cast<bf16>(static_cast<float>(static_cast<int>(draw_below(7)) - 3));
  for (float& v : y.values) v = static_cast<float>(draw_below(5));
  std::vector<float> expected = y.values;
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (std::int64_t l = 0; l < k; ++l) sum += static_cast<float>(a[i * k + l]) * static_cast<float>(b[l * n + j]);
      expected[static_cast<std::size_t>(rows * columns + (turned ? j * m + i : i * n + j))] += sum;
    }
  TEGULA_CHECK_RUN(on, (product_in_parts<BM, BN, BK, turned>), a, b, y);
  REQUIRE(y.values == expected);
}

inline void check_boxes(Executor on) {
  check_changed_boxes<0, float>(on);
  check_changed_boxes<0, bf16>(on);
  check_changed_boxes<0, int>(on);
  check_changed_boxes<1, int>(on);
  check_changed_boxes<2, float>(on);
  check_changed_boxes<2, std::int64_t>(on);
  for (std::int64_t const k : {8, 64, 200}) {
    check_product_in_parts<64, 32, 64, false>(on, 100, 40, k);
    check_product_in_parts<128, 32, 64, true>(on, 132, 40, k);
    check_product_in_parts<128, 64, 64, false>(on, 256, 64, k);
  }
}

}  // namespace tegula::test

// Defines a product whose result is stored and reduced along rows and columns, with its check.
#pragma once

#include <algorithm>

#include "kernels/indexed_kernels.hpp"

namespace tegula::test {

/// Stores z = x w + r and z's parts before r, and reduces z: the maximum of each column in each block of rows, sums of
/// columns, of rows, and the maximum of each row in each block of columns. `turned`: w is given as N x K.
template <class T, int BM, int BN, bool turned>
inline constexpr auto reduced_result =
    kernel("reduced_result", [](in<T, 2> x, in<T, 2> w, in<bf16, 2> r, out<bf16, 2> product, out<float, 2> z,
                                out<float, 2> maxima_of_columns, inout<float, 1> sums_of_columns,
                                inout<float, 1> sums_of_rows, out<float, 2> maxima_of_rows) {
      auto g = grid_over(z, shape<BM, BN>);
      tile sums = loop(
          ceil_div(x.extent(1), 32), zeros<float>(shape<BM, BN>),
          [&](auto k, auto sum) {
            if constexpr (turned)
              return dot(load(x, shape<BM, 32>, g[0], k), trans(load(w, shape<BN, 32>, g[1], k)), sum);
            else
              return dot(load(x, shape<BM, 32>, g[0], k), load(w, shape<32, BN>, k, g[1]), sum);
          },
          stages<2>);
      store(product, shape<BM, BN>, cast<bf16>(sums), g[0], g[1]);
      tile all = sums + cast<float>(load(r, shape<BM, BN>, g[0], g[1]));
      store(maxima_of_columns, shape<1, BN>, max(all, axis<0>), g[0], g[1]);
      store(z, shape<BM, BN>, all, g[0], g[1]);
      atomic_add(sums_of_columns, shape<BN>, squeeze(sum(all, axis<0>), axis<0>), g[1]);
      atomic_add(sums_of_rows, shape<BM>, squeeze(sum(all, axis<1>), axis<1>), g[0]);
      store(maxima_of_rows, shape<BM, 1>, max(all, axis<1>), g[0], g[1]);
    });

/// Draws small integers, so that all sums are exact.
template <class T, int BM, int BN, bool turned>
void check_reduced_result(Executor on, std::int64_t rows, std::int64_t columns, std::int64_t depth) {
  INFO(BM << "x" << BN << ": " << rows << " x " << columns << " x " << depth);
  std::int64_t const down = (rows + BM - 1) / BM, across = (columns + BN - 1) / BN;
  Array<T, 2> x({rows, depth}), w(turned ? std::array{columns, depth} : std::array{depth, columns});
  Array<bf16, 2> r({rows, columns}), product({rows, columns});
  Array<float, 2> z({rows, columns}), maxima_of_columns({down, columns}), maxima_of_rows({rows, across});
  Array<float, 1> sums_of_columns({columns}), sums_of_rows({rows});
  auto const draw = [](auto& values) {
    for (auto& v : values) v = static_cast<std::decay_t<decltype(v)>>(static_cast<float>(draw_below(7)) - 3);
  };
  draw(x.values), draw(w.values), draw(r.values);
  TEGULA_CHECK_RUN(on, (reduced_result<T, BM, BN, turned>), x, w, r, product, z, maxima_of_columns, sums_of_columns,
                   sums_of_rows, maxima_of_rows);
  constexpr float none = -1e30F;
  Array<float, 2> of_columns({down, columns}, none), of_rows({rows, across}, none);
  Array<float, 1> columns_sum({columns}, 0), rows_sum({rows}, 0);
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j) {
      float sum = 0;
      for (std::int64_t k = 0; k < depth; ++k)
        sum += static_cast<float>(x[i * depth + k]) * static_cast<float>(w[turned ? j * depth + k : k * columns + j]);
      float const all = sum + static_cast<float>(r[i * columns + j]);
      REQUIRE(static_cast<float>(product[i * columns + j]) == static_cast<float>(static_cast<bf16>(sum)));
      REQUIRE(z[i * columns + j] == all);
      of_columns[i / BM * columns + j] = std::max(of_columns[i / BM * columns + j], all);
      of_rows[i * across + j / BN] = std::max(of_rows[i * across + j / BN], all);
      columns_sum[j] += all;
      rows_sum[i] += all;
    }
  // A block that crosses the border has zeros outside.
  for (std::int64_t j = 0; j < columns && rows % BM != 0; ++j)
    of_columns[(down - 1) * columns + j] = std::max(of_columns[(down - 1) * columns + j], 0.0F);
  for (std::int64_t i = 0; i < rows && columns % BN != 0; ++i)
    of_rows[(i + 1) * across - 1] = std::max(of_rows[(i + 1) * across - 1], 0.0F);
  REQUIRE(maxima_of_columns.values == of_columns.values);
  REQUIRE(maxima_of_rows.values == of_rows.values);
  REQUIRE(sums_of_columns.values == columns_sum.values);
  REQUIRE(sums_of_rows.values == rows_sum.values);
}

inline void check_reduced_results(Executor on) {
  check_reduced_result<bf16, 128, 256, false>(on, 130, 264, 40);  // two warpgroups, one below the other
  check_reduced_result<bf16, 64, 192, false>(on, 72, 200, 64);
  check_reduced_result<f16, 256, 128, false>(on, 264, 128, 32);
  check_reduced_result<e4m3, 128, 128, true>(on, 144, 144, 64);
  check_reduced_result<e4m3, 128, 64, false>(on, 144, 80, 64);  // mma: chunks of rows, warps divide the columns
  check_reduced_result<bf16, 96, 112, false>(on, 104, 120, 48);
}

}  // namespace tegula::test

// Multiplies matrices whose rows are not multiples of 16 bytes, on any executor: as they are written or transposed, of
// several batches, as views that begin at any element.
#pragma once

#include <array>
#include <cmath>
#include <random>
#include <type_traits>

#include "support/catch.hpp"
#include "support/executors.hpp"

namespace tegula::test {

/// Computes c[n] = a[n] * b[n]. A transposed operand lies as (K, M), or (N, K), in memory.
template <class T, bool left_turned, bool right_turned, int M = 64, int N = 64, int K = 64, int Stages = 3>
inline constexpr auto odd_product = kernel("odd_product", [](in<T, 3> a, in<T, 3> b, out<float, 3> c) {
  auto g = grid_over(c, shape<1, M, N>);
  tile sums = loop(
      ceil_div(a.extent(left_turned ? 1 : 2), K), zeros<float>(shape<M, N>),
      [&](auto k, auto sum) {
        auto x = [&] {
          if constexpr (left_turned) return tile(trans(load(a, shape<K, M>, g[0], k, g[1])));
          if constexpr (!left_turned) return tile(load(a, shape<M, K>, g[0], g[1], k));
        };
        auto y = [&] {
          if constexpr (right_turned) return tile(trans(load(b, shape<N, K>, g[0], g[2], k)));
          if constexpr (!right_turned) return tile(load(b, shape<K, N>, g[0], k, g[2]));
        };
        if constexpr (std::is_same_v<T, float>) return dot(x(), y(), sum, tf32);
        if constexpr (!std::is_same_v<T, float>) return dot(x(), y(), sum);
      },
      stages<Stages>);
  store(c, shape<M, N>, sums, g[0], g[1], g[2]);
});

/// Says how the rows of an operand lie: `gap` elements behind each, the first one `begin` elements behind the start of
/// the memory, which ends with the last row.
struct RowsInMemory {
  std::int64_t gap = 0, begin = 0;
};

/// Makes matrices of whole numbers, with NaN between and in front of their rows.
template <class T>
Strided<T, 3> odd_rows(std::int64_t batches, std::int64_t rows, std::int64_t columns, RowsInMemory lie, unsigned seed) {
  std::int64_t const pitch = columns + lie.gap, all = batches * rows;
  std::int64_t const size = lie.begin + (all == 0 ? 0 : all * pitch - lie.gap);
  Strided<T, 3> result{
      Array<T, 1>({size}, T(std::nanf(""))), lie.begin, {batches, rows, columns}, {rows * pitch, pitch, 1}};
  std::mt19937 random(seed);
  std::uniform_int_distribution<int> whole(-4, 4);
  for (std::int64_t row = 0; row < all; ++row)
    for (std::int64_t column = 0; column < columns; ++column)
      result.memory[lie.begin + row * pitch + column] = T(static_cast<float>(whole(random)));
  return result;
}

template <class T, bool left_turned, bool right_turned, int M = 64, int N = 64, int K = 64, int Stages = 3>
void check_odd_product(Executor executor, std::array<std::int64_t, 4> const& extents, RowsInMemory left = {},
                       RowsInMemory right = {}, CompileOptions const& options = {}) {
  auto const [batches, m, n, depth] = extents;
  auto a = odd_rows<T>(batches, left_turned ? depth : m, left_turned ? m : depth, left, 1);
  auto b = odd_rows<T>(batches, right_turned ? n : depth, right_turned ? depth : n, right, 2);
  Array<float, 3> c({batches, m, n}, -12345);
  INFO(name(executor) << ": " << batches << " of " << m << " x " << n << " x " << depth << (left_turned ? ", a^T" : "")
                      << (right_turned ? ", b^T" : "") << ", rows apart by " << a.strides[1] << " from " << a.first
                      << ", and by " << b.strides[1] << " from " << b.first);
  auto const kernel =
      variants("odd_product", variant(with(options), odd_product<T, left_turned, right_turned, M, N, K, Stages>));
  TEGULA_CHECK_RUN(executor, kernel, a, b, c);
  auto const number = [](auto& of, std::int64_t batch, std::int64_t row, std::int64_t column) {
    return static_cast<double>(static_cast<float>(of.at(batch, row, column)));
  };
  std::int64_t wrong = 0;
  for (std::int64_t batch = 0; batch < batches; ++batch)
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        double sum = 0;
        for (std::int64_t k = 0; k < depth; ++k)
          sum += (left_turned ? number(a, batch, k, i) : number(a, batch, i, k)) *
                 (right_turned ? number(b, batch, j, k) : number(b, batch, k, j));
        wrong += static_cast<double>(c[(batch * m + i) * n + j]) == sum ? 0 : 1;
      }
  CHECK(wrong == 0);
}

}  // namespace tegula::test

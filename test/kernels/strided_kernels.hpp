// Checks kernels over tensors that TMA cannot copy: negative and zero strides, odd addresses; on any executor.
#pragma once

#include "kernels/indexed_kernels.hpp"

namespace tegula::test {

/// Names how a matrix lies in memory.
enum class Lies : std::uint8_t {
  rows_reversed,
  columns_reversed,
  one_row,
  one_column,
  odd_start,
  odd_rows,
  transposed
};
inline constexpr Lies all_ways[] = {Lies::rows_reversed, Lies::columns_reversed, Lies::one_row,   Lies::one_column,
                                    Lies::odd_start,     Lies::odd_rows,         Lies::transposed};
/// True where each element has a place of its own, as written tensors need.
inline bool is_written_so(Lies how) { return how != Lies::one_row && how != Lies::one_column; }

template <class T>
Strided<T, 2> lying(Lies how, std::int64_t rows, std::int64_t columns, T value = T()) {
  auto const memory = [&](std::int64_t count) { return Array<T, 1>({count}, value); };
  std::int64_t const all = rows * columns;
  switch (how) {
    case Lies::rows_reversed:
      return {memory(all), (rows - 1) * columns, {rows, columns}, {-columns, 1}};
    case Lies::columns_reversed:
      return {memory(all), columns - 1, {rows, columns}, {columns, -1}};
    case Lies::one_row:
      return {memory(columns), 0, {rows, columns}, {0, 1}};
    case Lies::one_column:
      return {memory(rows), 0, {rows, columns}, {1, 0}};
    case Lies::odd_start:
      return {memory(all + 1), 1, {rows, columns}, {columns, 1}};
    case Lies::odd_rows:
      return {memory(rows * (columns + 3)), 0, {rows, columns}, {columns + 3, 1}};
    case Lies::transposed:
      break;
  }
  return {memory(all), 0, {rows, columns}, {1, rows}};
}

/// Multiplies matrices, by tensor cores where the elements are theirs; the loads would be copies of a ring.
template <class T>
inline constexpr auto strided_product = kernel("strided_product", [](in<T, 2> a, in<T, 2> b, out<float, 2> y) {
  auto g = grid_over(y, shape<64, 64>);
  tile sums = loop(
      ceil_div(a.extent(1), 32), zeros<float>(shape<64, 64>),
      [&](auto k, auto sum) { return dot(load(a, shape<64, 32>, g[0], k), load(b, shape<32, 64>, k, g[1]), sum); },
      stages<3>);
  store(y, shape<64, 64>, sums, g[0], g[1]);
});

template <class T>
void check_strided_product(Executor on, Lies left, Lies right, Lies result) {
  std::int64_t const m = 72, k = 80, n = 64;
  auto a = lying<T>(left, m, k), b = lying<T>(right, k, n);
  auto y = lying<float>(result, m, n, -1);
  for (auto* x : {&a.memory, &b.memory})
    for (T& v : x->values) v = static_cast<T>(static_cast<float>(draw_below(9)) - 4);
  TEGULA_CHECK_RUN(on, strided_product<T>, a, b, y);
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (std::int64_t l = 0; l < k; ++l) sum += static_cast<float>(a.at(i, l)) * static_cast<float>(b.at(l, j));
      REQUIRE(y.at(i, j) == sum);
    }
}

/// Loads in a loop with stages, stores, gathers and adds.
template <class T>
inline constexpr auto strided_rows = kernel("strided_rows", [](in<T, 2> x, out<T, 2> y, inout<T, 2> z) {
  auto g = grid_over(x, shape<16, 64>);
  tile row = iota(shape<16, 1>, axis<0>) + g[0] * 16;
  tile column = iota(shape<1, 64>, axis<1>) + g[1] * 64;
  tile twice = loop(
      2, zeros<T>(shape<16, 64>), [&](auto, auto sum) { return sum + load(x, shape<16, 64>, g[0], g[1]); }, stages<2>);
  store(y, shape<16, 64>, twice, g[0], g[1]);
  atomic_add(z, gather(x, row, column), row, column);
});

template <class T>
void check_strided_rows(Executor on, Lies from, Lies to) {
  std::int64_t const rows = 40, columns = 96;
  auto x = lying<T>(from, rows, columns);
  auto y = lying<T>(to, rows, columns, T(-1)), z = lying<T>(to, rows, columns, T(5));
  for (T& v : x.memory.values) v = static_cast<T>(static_cast<int>(draw_below(21)) - 10);
  TEGULA_CHECK_RUN(on, strided_rows<T>, x, y, z);
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j) {
      auto const v = static_cast<double>(x.at(i, j));
      REQUIRE(static_cast<double>(y.at(i, j)) == 2 * v);
      REQUIRE(static_cast<double>(z.at(i, j)) == 5 + v);
    }
}

inline void check_strided(Executor on) {
  for (Lies const from : all_ways) {
    Lies const to = is_written_so(from) ? from : Lies::odd_start;
    check_strided_product<bf16>(on, from, Lies::odd_rows, to);
    check_strided_product<bf16>(on, Lies::columns_reversed, from, Lies::rows_reversed);
    check_strided_rows<float>(on, from, to);
    check_strided_rows<bf16>(on, from, to);
    check_strided_rows<double>(on, from, to);
  }
  check_strided_product<float>(on, Lies::one_column, Lies::one_row, Lies::transposed);
}

}  // namespace tegula::test

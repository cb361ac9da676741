// Checks gathers, scatters and sums at indices that run, which move as vectors on a GPU.
#pragma once

#include "kernels/ranged_kernels.hpp"

namespace tegula::test {

/// Looks rows up by a tile of their numbers; columns run, some of them are masked.
template <class T>
inline constexpr auto looked_up = kernel("looked_up", [](in<T, 2> x, in<int, 1> rows, out<T, 2> y, arg<int> stop) {
  auto g = grid_over(y, shape<16, 128>);
  tile row = expand_dims(load(rows, shape<16>, g[0], pad(-1)), axis<1>);
  tile column = iota(shape<1, 128>, axis<1>) + g[1] * 128;
  store(y, shape<16, 128>, gather(x, row, column, mask(row < stop), pad(3)), g[0], g[1]);
});

template <class T>
void check_looked_up(Executor on, std::int64_t width) {
  Array<T, 2> x({21, width});
  for (T& v : x.values) v = draw_number<T>();
  Array<int, 1> rows = draw_indices<int>(45, 21);
  Array<T, 2> y({45, width}, T(-1));
  TEGULA_CHECK_RUN(on, looked_up<T>, x, rows, y, 15);
  for (std::int64_t i = 0; i < 45; ++i)
    for (std::int64_t j = 0; j < width; ++j)
      REQUIRE(y[i * width + j] == (inside(rows[i], 15) ? x[rows[i] * width + j] : T(3)));
}

/// Moves groups of 16 elements of a vector to other places, but for masked groups.
template <class T>
inline constexpr auto shuffled_groups = kernel("shuffled_groups", [](in<T, 1> x, in<int, 1> order, out<T, 1> y) {
  auto g = grid_over(order, shape<32>);
  tile group = expand_dims(load(order, shape<32>, g[0], pad(-1)), axis<1>);
  tile to = group * 16 + iota<int>(shape<1, 16>, axis<1>);
  tile from = iota<int>(shape<32, 16>, axis<0>) * 16 + iota<int>(shape<32, 16>, axis<1>) + cast<int>(g[0]) * 512;
  scatter(y, gather(x, from), to, mask(group >= 0));
});

template <class T>
void check_shuffled_groups(Executor on) {
  std::int64_t const groups = 53;
  Array<T, 1> x({groups * 16}), y({groups * 16 - 5}, T(-1));
  for (T& v : x.values) v = draw_number<T>();
  Array<int, 1> order({groups});
  std::iota(order.values.begin(), order.values.end(), 0);
  std::shuffle(order.values.begin(), order.values.end(), indexed_engine());
  order[7] = -1;
  std::vector<T> expected = y.values;
  for (std::int64_t g = 0; g < groups; ++g)
    for (std::int64_t i = 0; i < 16 && order[g] >= 0; ++i)
      if (order[g] * 16 + i < static_cast<std::int64_t>(expected.size()))
        expected[static_cast<std::size_t>(order[g] * 16 + i)] = x[g * 16 + i];
  TEGULA_CHECK_RUN(on, shuffled_groups<T>, x, order, y);
  for (std::size_t i = 0; i < expected.size(); ++i) REQUIRE(y.values[i] == expected[i]);
}

/// Adds rows of gradients to the rows of a table that words name, and keeps the old elements.
template <class T>
inline constexpr auto added_rows = kernel("added_rows", [](in<T, 2> x, in<int, 1> words, inout<T, 2> table,
                                                           out<T, 2> old) {
  auto g = grid_over(x, shape<8, 64>);
  tile row = expand_dims(load(words, shape<8>, g[0], pad(-1)), axis<1>);
  tile column = iota(shape<1, 64>, axis<1>) + g[1] * 64;
  store(old, shape<8, 64>, atomic_add(table, load(x, shape<8, 64>, g[0], g[1]), row, column), g[0], g[1]);
});

template <class T>
void check_added_rows(Executor on, std::int64_t width) {
  Array<T, 2> x({30, width}), table({6, width}), old({30, width}, T(-1));
  for (T& v : x.values) v = static_cast<T>(static_cast<int>(draw_below(7)) - 3);
  for (T& v : table.values) v = static_cast<T>(static_cast<int>(draw_below(7)) - 3);
  Array<int, 1> words = draw_indices<int>(30, 6);
  std::vector<double> expected;
  for (T const v : table.values) expected.push_back(static_cast<double>(v));
  for (std::int64_t i = 0; i < 30; ++i)
    for (std::int64_t j = 0; j < width && inside(words[i], 6); ++j)
      expected[static_cast<std::size_t>(words[i] * width + j)] += static_cast<double>(x[i * width + j]);
  TEGULA_CHECK_RUN(on, added_rows<T>, x, words, table, old);
  for (std::size_t i = 0; i < expected.size(); ++i) REQUIRE(static_cast<double>(table.values[i]) == expected[i]);
  for (std::int64_t i = 0; i < 30; ++i)
    for (std::int64_t j = 0; j < width; ++j)
      if (!inside(words[i], 6)) REQUIRE(static_cast<double>(old[i * width + j]) == 0);
}

inline void check_running(Executor on) {
  for (std::int64_t const width : {std::int64_t{256}, std::int64_t{131}, std::int64_t{200}}) {
    check_looked_up<float>(on, width);
    check_looked_up<bf16>(on, width);
    check_looked_up<std::int8_t>(on, width);
    check_looked_up<double>(on, width);
    check_added_rows<float>(on, width);
    check_added_rows<f16>(on, width);
    check_added_rows<bf16>(on, width);
    check_added_rows<int>(on, width);
    check_added_rows<double>(on, width);
  }
  check_shuffled_groups<float>(on);
  check_shuffled_groups<f16>(on);
  check_shuffled_groups<std::uint8_t>(on);
  check_shuffled_groups<std::int64_t>(on);
}

}  // namespace tegula::test

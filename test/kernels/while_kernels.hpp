// Checks loops that carry scalars and tiles until a condition fails, on any executor.
#pragma once

#include <cmath>

#include "kernels/indexed_kernels.hpp"

namespace tegula::test {

/// Counts the steps of a number to 1, each block for a number of its own.
inline constexpr auto collatz = kernel("collatz", [](in<std::int64_t, 1> x, out<std::int64_t, 1> y) {
  auto g = grid_over(x, shape<>);
  auto [last, steps] = while_(
      carry(load(x, g[0]), std::int64_t{0}), [](auto n, auto) { return n > 1; },
      [](auto n, auto count) {
        auto half = n / 2;
        auto next = if_(
            n % 2 == 0, [&] { return half; }, [&] { return n * 3 + 1; });
        return carry(next, count + 1);
      });
  store(y, shape<1>, full(shape<1>, steps + last * 1000), elem(g[0]));
});

/// Takes square roots by Newton's method until no element of the tile changes much: carries a tile and a scalar.
inline constexpr auto roots = kernel("roots", [](in<float, 1> x, out<float, 1> y, inout<int, 1> turns) {
  auto g = grid_over(x, shape<128>);
  tile a = load(x, shape<128>, g[0], pad(1));
  auto [root, count] = while_(
      carry(full<float>(shape<128>, 1), 0), [](auto, auto n) { return n < 20; },
      [&](auto r, auto n) { return carry((r + a / r) * 0.5f, n + 1); });
  store(y, shape<128>, root, g[0]);
  store(turns, shape<1>, full(shape<1>, count), elem(g[0]));
});

/// Finds the first element of a sorted row that is not less than a key, by halving a range of indices.
inline constexpr auto lower_bound = kernel("lower_bound", [](in<int, 1> sorted, in<int, 1> keys, out<int, 1> y) {
  auto g = grid_over(keys, shape<>);
  auto key = load(keys, g[0]);
  auto [low, high] = while_(
      carry(sorted.extent(0) * 0, sorted.extent(0)), [](auto l, auto h) { return l < h; },
      [&](auto l, auto h) {
        auto middle = (l + h) / 2;
        return if_(
            load(sorted, middle) < key, [&] { return carry(middle + 1, h); }, [&] { return carry(l, middle); });
      });
  store(y, shape<1>, cast<int>(full(shape<1>, low + high * 0)), elem(g[0]));
});

/// Multiplies a matrix by itself until a counter ends: a product inside of while_.
inline constexpr auto powers = kernel("powers", [](in<f16, 2> x, out<float, 2> y, arg<int> times) {
  grid(1);
  auto [product, n] = while_(
      carry(zeros<float>(shape<64, 64>), 0), [&](auto, auto k) { return k < times; },
      [&](auto sum, auto k) {
        tile a = load(x, shape<64, 64>, 0, 0);
        tile b = load(x, shape<64, 64>, 0, 0);
        return carry(dot(a, b, sum), k + 1);
      });
  store(y, shape<64, 64>, product, 0, 0);
});

/// Carries scalars through a loop: the max and its place in a row.
inline constexpr auto peaks = kernel("peaks", [](in<float, 2> x, out<float, 1> values, out<std::int64_t, 1> places) {
  auto g = grid_over(values, shape<>);
  auto [best, place] = loop(x.extent(1), carry(load(x, g[0], 0), std::int64_t{0}), [&](auto k, auto max, auto at) {
    auto here = load(x, g[0], k);
    return if_(
        here > max, [&] { return carry(here, k); }, [&] { return carry(max, at); });
  });
  store(values, shape<1>, full(shape<1>, best), elem(g[0]));
  store(places, shape<1>, full(shape<1>, place), elem(g[0]));
});

inline void check_while(Executor on) {
  Array<std::int64_t, 1> x({20}), y({20}, -1);
  for (std::int64_t i = 0; i < 20; ++i) x[i] = i - 1;
  TEGULA_CHECK_RUN(on, collatz, x, y);
  for (std::int64_t i = 0; i < 20; ++i) {
    std::int64_t n = i - 1, steps = 0;
    for (; n > 1; ++steps) n = n % 2 == 0 ? n / 2 : 3 * n + 1;
    REQUIRE(y[i] == steps + n * 1000);
  }

  Array<float, 1> squares({300}), root({300}, -1);
  Array<int, 1> turns({3}, 0);
  for (float& v : squares.values) v = static_cast<float>(draw_below(1000) + 1);
  TEGULA_CHECK_RUN(on, roots, squares, root, turns);
  for (std::int64_t i = 0; i < 300; ++i)
    REQUIRE(std::abs(static_cast<double>(root[i]) - std::sqrt(static_cast<double>(squares[i]))) < 1e-4);
  for (int t : turns.values) REQUIRE(t == 20);

  auto sorted = draw_indices<int>(100, 500);
  std::sort(sorted.values.begin(), sorted.values.end());
  auto keys = draw_indices<int>(40, 500);
  Array<int, 1> found({40}, -1);
  TEGULA_CHECK_RUN(on, lower_bound, sorted, keys, found);
  for (std::int64_t i = 0; i < 40; ++i)
    REQUIRE(found[i] == std::lower_bound(sorted.values.begin(), sorted.values.end(), keys[i]) - sorted.values.begin());

  Array<f16, 2> matrix({64, 64});
  for (f16& v : matrix.values) v = f16(static_cast<float>(draw_below(5)) - 2);
  for (int times : {0, 1, 3}) {
    Array<float, 2> product({64, 64}, -1);
    TEGULA_CHECK_RUN(on, powers, matrix, product, times);
    for (std::int64_t i = 0; i < 64; i += 5)
      for (std::int64_t j = 0; j < 64; j += 3) {
        float sum = 0;
        for (std::int64_t k = 0; k < 64; ++k)
          sum += static_cast<float>(matrix[i * 64 + k]) * static_cast<float>(matrix[k * 64 + j]);
        REQUIRE(product[i * 64 + j] == sum * static_cast<float>(times));
      }
  }

  Array<float, 2> rows({9, 33});
  for (float& v : rows.values) v = static_cast<float>(draw_below(1000));
  Array<float, 1> values({9}, -1);
  Array<std::int64_t, 1> places({9}, -1);
  TEGULA_CHECK_RUN(on, peaks, rows, values, places);
  for (std::int64_t i = 0; i < 9; ++i) {
    auto const* const row = rows.values.data() + i * 33;
    auto const* const best = std::max_element(row, row + 33);
    REQUIRE(values[i] == *best);
    REQUIRE(places[i] == best - row);
  }
}

}  // namespace tegula::test

// Checks scalars that are made of tiles, as indices, bounds and conditions, on any executor.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/indexed_kernels.hpp"

namespace tegula::test {

/// Finds the largest eigenvalue's vector of symmetric matrices, and ends when it is steady.
inline constexpr auto steady =
    kernel("steady", [](in<float, 3> a, out<float, 2> x, out<int, 1> turns, arg<float> least) {
      auto g = grid(a.extent(0));
      tile m = load(a, shape<64, 64>, g[0], 0, 0);
      auto [v, moved, n] = while_(
          carry(full(shape<64, 1>, 0.125F), full(shape<64, 1>, 1.F), 0),
          [&](auto, auto change, auto count) { return (max(change) > least) & (count < 200); },
          [&](auto v0, auto, auto count) {
            tile w = sum(m * trans(v0), axis<1>);
            tile next = w * rsqrt(sum(w * w, axis<0>));
            return carry(next, abs(next - v0), count + 1);
          });
      store(x, shape<1, 64>, trans(v), g[0], 0);
      store(turns, shape<1>, n, g[0]);
    });

/// Routes rows to experts: counts the tokens of each, and copies their rows one after the other.
inline constexpr auto routed =
    kernel("routed", [](in<int, 1> expert, in<float, 2> rows, out<float, 2> sorted, out<int, 1> counts) {
      auto g = grid(counts.extent(0));
      tile e = load(expert, shape<64>, 0, pad(-1));
      tile mine = e == cast<int>(g[0]);
      auto const before = sum(cast<int>((e >= 0) & (e < cast<int>(g[0]))));
      auto const count = sum(cast<int>(mine));
      tile rank = cumsum(cast<int>(mine), axis<0>);
      loop(count, [&](auto k) {
        auto const token = argmax(cast<int>(mine & (rank == cast<int>(k) + 1)));
        tile row = load(rows, shape<1, 32>, elem(token), 0);
        store(sorted, shape<1, 32>, row, elem(before + cast<int>(k)), 0);
      });
      store(counts, shape<1>, count, g[0]);
    });

/// Takes elements at places that memory names, of a tile of the given shape, in every kind of element.
template <class T, int rows, int columns>
constexpr auto picked = kernel("picked", [](in<T, 2> x, in<int, 2> places, out<T, 1> y) {
  auto g = grid(places.extent(0));
  tile a = load(x, shape<rows, columns>, 0, 0);
  auto const i = load(places, g[0], 0), j = load(places, g[0], 1);
  store(y, shape<1>, item(a, i, j), g[0]);
});

/// Looks at elements of a transposed tile and of a sum along an axis, which lie in other layouts.
inline constexpr auto laid_out = kernel("laid_out", [](in<float, 2> x, in<int, 2> places, out<float, 2> y) {
  auto g = grid(places.extent(0));
  tile a = load(x, shape<32, 64>, 0, 0);
  auto const i = load(places, g[0], 0), j = load(places, g[0], 1);
  tile t = trans(a);
  tile s = sum(a, axis<0>);
  tile three = reshape(a, shape<4, 8, 64>);
  store(y, shape<1, 1>, item(t, j, i), g[0], 0);
  store(y, shape<1, 1>, item(s, 0, j), g[0], 1);
  store(y, shape<1, 1>, item(three, i / 8, i % 8, j), g[0], 2);
  store(y, shape<1, 1>, item(a, 3, 5), g[0], 3);
  if_(
      item(a > 0.F, i, j), [&] { store(y, shape<1, 1>, 1.F, g[0], 4); }, [&] { store(y, shape<1, 1>, 0.F, g[0], 4); });
});

/// Sums as many columns of a row as the row says, in a nested loop whose bound comes from a tile.
inline constexpr auto ragged = kernel("ragged", [](in<int, 1> lengths, in<float, 2> x, out<float, 1> y) {
  auto g = grid(ceil_div(lengths.extent(0), 16));
  tile n = load(lengths, shape<16>, g[0]);
  loop(16, [&](auto row) {
    auto const last = item(n, row);
    tile total = loop(ceil_div(last, 32), zeros<float>(shape<1, 32>), [&](auto k, auto t) {
      tile part = load(x, shape<1, 32>, elem(g[0] * 16 + row), k);
      tile at = iota<int>(shape<1, 32>, axis<1>) + cast<int>(k * 32);
      return t + select(at < last, part, 0);
    });
    store(y, shape<1>, sum(total), g[0] * 16 + row);
  });
});

/// Branches on masks, and returns all kinds of reductions.
inline constexpr auto summary = kernel("summary", [](in<float, 2> x, out<float, 2> y, out<int, 2> n) {
  auto g = grid(ceil_div(x.extent(0), 8));
  tile a = load(x, shape<8, 48>, g[0], 0);
  store(y, shape<1, 1>, sum(a), g[0], 0);
  store(y, shape<1, 1>, max(a), g[0], 1);
  store(y, shape<1, 1>, min(a), g[0], 2);
  store(y, shape<1, 1>, sum(a, order::pairwise), g[0], 3);
  store(n, shape<1, 1>, cast<int>(any(a > 2.F)), g[0], 0);
  store(n, shape<1, 1>, cast<int>(all(a < 2.F)), g[0], 1);
  store(n, shape<1, 1>, argmax(a), g[0], 2);
  store(n, shape<1, 1>, argmin(a), g[0], 3);
  if_(
      any(a > 2.F), [&] { store(n, shape<1, 1>, 7, g[0], 4); }, [&] { store(n, shape<1, 1>, 8, g[0], 4); });
  store(n, shape<1, 1>, sum(cast<int>(a > 0.F)), g[0], 5);
});

/// Multiplies as many blocks as a tile says: the bound of a loop with products.
inline constexpr auto bounded_product = kernel("bounded_product", [](in<f16, 2> a, in<f16, 2> b, in<int, 1> depth,
                                                                     out<float, 2> c) {
  auto g = grid(1);
  tile d = load(depth, shape<32>, g[0]);
  tile c0 = loop(
      max(d), zeros<float>(shape<64, 64>),
      [&](auto k, auto s) { return dot(load(a, shape<64, 64>, 0, k), load(b, shape<64, 64>, k, 0), s); }, stages<2>);
  store(c, shape<64, 64>, c0, 0, 0);
});

inline void check_steady(Executor on) {
  std::int64_t const count = 3;
  Array<float, 3> a({count, 64, 64});
  for (std::int64_t b = 0; b < count; ++b)
    for (std::int64_t i = 0; i < 64; ++i)
      for (std::int64_t j = 0; j <= i; ++j) {
        float const v = static_cast<float>(draw_below(1000)) / 1000 + (i == j ? 1 + static_cast<float>(b) : 0);
        a[(b * 64 + i) * 64 + j] = a[(b * 64 + j) * 64 + i] = v;
      }
  Array<float, 2> x({count, 64}, -1);
  Array<int, 1> turns({count}, -1);
  TEGULA_CHECK_RUN(on, steady, a, x, turns, 1e-5F);
  for (std::int64_t b = 0; b < count; ++b) {
    std::vector<double> v(64, 0.125), next(64);
    for (int n = 0; n < 400; ++n) {
      double norm = 0;
      for (std::size_t i = 0; i < 64; ++i) {
        next[i] = 0;
        for (std::size_t j = 0; j < 64; ++j)
          next[i] +=
              static_cast<double>(a[(b * 64 + static_cast<std::int64_t>(i)) * 64 + static_cast<std::int64_t>(j)]) *
              v[j];
        norm += next[i] * next[i];
      }
      for (std::size_t i = 0; i < 64; ++i) v[i] = next[i] / std::sqrt(norm);
    }
    for (std::int64_t i = 0; i < 64; ++i)
      REQUIRE(std::abs(static_cast<double>(x[b * 64 + i]) - v[static_cast<std::size_t>(i)]) < 1e-4);
    REQUIRE(turns[b] > 1);
    REQUIRE(turns[b] < 50);
  }
}

inline void check_routed(Executor on) {
  Array<int, 1> expert({57});
  for (int& e : expert.values) e = static_cast<int>(draw_below(5));
  Array<float, 2> rows({57, 32}), sorted({57, 32}, -1);
  for (std::int64_t i = 0; i < 57 * 32; ++i) rows[i] = static_cast<float>(draw_below(10000));
  Array<int, 1> counts({5}, -1);
  TEGULA_CHECK_RUN(on, routed, expert, rows, sorted, counts);
  std::int64_t to = 0;
  for (int e = 0; e < 5; ++e) {
    REQUIRE(counts[e] == std::count(expert.values.begin(), expert.values.end(), e));
    for (std::int64_t token = 0; token < 57; ++token) {
      if (expert[token] != e) continue;
      for (std::int64_t i = 0; i < 32; ++i) REQUIRE(sorted[to * 32 + i] == rows[token * 32 + i]);
      ++to;
    }
  }
  REQUIRE(to == 57);
}

template <class T, int rows, int columns>
void check_picked(Executor on) {
  Array<T, 2> x({rows, columns});
  for (std::int64_t i = 0; i < rows * columns; ++i) {
    if constexpr (std::is_same_v<T, bool>)
      x.values[static_cast<std::size_t>(i)] = draw_below(2) == 1;
    else if constexpr (std::is_integral_v<T>)
      x[i] = static_cast<T>(static_cast<std::uint64_t>(draw_below(1 << 30)) * 0x9e3779b97f4a7c15U);
    else
      x[i] = T(static_cast<float>(draw_below(200) - 100) * 0.25F);
  }
  std::int64_t const count = 24;
  Array<int, 2> places({count, 2});
  for (std::int64_t k = 0; k < count; ++k) {
    places[k * 2] = static_cast<int>(draw_below(rows + 2)) - 1;
    places[k * 2 + 1] = static_cast<int>(draw_below(columns + (k % 3 == 0 ? 2 : 0))) - (k % 3 == 0 ? 1 : 0);
  }
  Array<T, 1> y({count});
  TEGULA_CHECK_RUN(on, (picked<T, rows, columns>), x, places, y);
  for (std::int64_t k = 0; k < count; ++k) {
    std::int64_t const i = places[k * 2], j = places[k * 2 + 1];
    bool const inside = i >= 0 && i < rows && j >= 0 && j < columns;
    INFO("element at " << i << ", " << j << " of " << rows << " x " << columns);
    REQUIRE(y.values[static_cast<std::size_t>(k)] ==
            (inside ? x.values[static_cast<std::size_t>(i * columns + j)] : T()));
  }
}

inline void check_laid_out(Executor on) {
  Array<float, 2> x({32, 64});
  for (float& v : x.values) v = static_cast<float>(draw_below(2001) - 1000);
  std::int64_t const count = 16;
  Array<int, 2> places({count, 2});
  for (std::int64_t k = 0; k < count; ++k) {
    places[k * 2] = static_cast<int>(draw_below(32));
    places[k * 2 + 1] = static_cast<int>(draw_below(64));
  }
  Array<float, 2> y({count, 5}, -1);
  TEGULA_CHECK_RUN(on, laid_out, x, places, y);
  for (std::int64_t k = 0; k < count; ++k) {
    std::int64_t const i = places[k * 2], j = places[k * 2 + 1];
    float const at = x[i * 64 + j];
    float sum = 0;
    for (std::int64_t row = 0; row < 32; ++row) sum += x[row * 64 + j];
    REQUIRE(y[k * 5] == at);
    REQUIRE(y[k * 5 + 1] == sum);
    REQUIRE(y[k * 5 + 2] == at);
    REQUIRE(y[k * 5 + 3] == x[3 * 64 + 5]);
    REQUIRE(y[k * 5 + 4] == (at > 0 ? 1 : 0));
  }
}

inline void check_ragged(Executor on) {
  Array<int, 1> lengths({37});
  for (int& length : lengths.values) length = static_cast<int>(draw_below(131));
  Array<float, 2> x({37, 130});
  for (float& v : x.values) v = static_cast<float>(draw_below(201) - 100);
  Array<float, 1> y({37}, -1);
  TEGULA_CHECK_RUN(on, ragged, lengths, x, y);
  for (std::int64_t row = 0; row < 37; ++row) {
    float sum = 0;
    for (std::int64_t i = 0; i < lengths[row]; ++i) sum += x[row * 130 + i];
    REQUIRE(y[row] == sum);
  }
}

inline void check_summary(Executor on) {
  Array<float, 2> x({24, 48});
  for (float& v : x.values) v = static_cast<float>(draw_below(4001) - 2000) / 1024;
  x[100] = 2.5F;
  Array<float, 2> y({3, 4}, -1);
  Array<int, 2> n({3, 6}, -1);
  TEGULA_CHECK_RUN(on, summary, x, y, n);
  for (std::int64_t b = 0; b < 3; ++b) {
    float const* const part = x.values.data() + b * 384;
    double sum = 0;
    int above = 0;
    for (int i = 0; i < 384; ++i) sum += static_cast<double>(part[i]), above += part[i] > 0 ? 1 : 0;
    float const *const most = std::max_element(part, part + 384), *const least = std::min_element(part, part + 384);
    REQUIRE(static_cast<double>(y[b * 4]) == sum);
    REQUIRE(y[b * 4 + 1] == *most);
    REQUIRE(y[b * 4 + 2] == *least);
    REQUIRE(static_cast<double>(y[b * 4 + 3]) == sum);
    REQUIRE(n[b * 6] == (*most > 2 ? 1 : 0));
    REQUIRE(n[b * 6 + 1] == (*most < 2 ? 1 : 0));
    REQUIRE(n[b * 6 + 2] == most - part);
    REQUIRE(n[b * 6 + 3] == least - part);
    REQUIRE(n[b * 6 + 4] == (*most > 2 ? 7 : 8));
    REQUIRE(n[b * 6 + 5] == above);
  }
}

inline void check_bounded_product(Executor on) {
  Array<f16, 2> a({64, 320}), b({320, 64});
  for (f16& v : a.values) v = f16(static_cast<float>(draw_below(9)) - 4);
  for (f16& v : b.values) v = f16(static_cast<float>(draw_below(9)) - 4);
  for (int const blocks : {0, 1, 2, 3, 5}) {
    Array<int, 1> depth({32}, 0);
    depth[draw_below(32)] = blocks;
    Array<float, 2> c({64, 64}, -1);
    TEGULA_CHECK_RUN(on, bounded_product, a, b, depth, c);
    for (std::int64_t i = 0; i < 64; i += 7)
      for (std::int64_t j = 0; j < 64; j += 5) {
        float sum = 0;
        for (std::int64_t k = 0; k < blocks * 64; ++k)
          sum += static_cast<float>(a[i * 320 + k]) * static_cast<float>(b[k * 64 + j]);
        REQUIRE(c[i * 64 + j] == sum);
      }
  }
}

/// Checks every kernel of this file.
inline void check_items(Executor on) {
  check_steady(on);
  check_routed(on);
  check_laid_out(on);
  check_ragged(on);
  check_summary(on);
  check_bounded_product(on);
  check_picked<std::int8_t, 16, 32>(on);
  check_picked<std::uint8_t, 4, 8>(on);
  check_picked<std::int16_t, 16, 16>(on);
  check_picked<std::uint16_t, 8, 24>(on);
  check_picked<int, 64, 128>(on);
  check_picked<std::uint32_t, 5, 48>(on);
  check_picked<std::int64_t, 32, 32>(on);
  check_picked<std::uint64_t, 1, 40>(on);
  check_picked<e4m3, 16, 64>(on);
  check_picked<e5m2, 16, 16>(on);
  check_picked<f16, 32, 64>(on);
  check_picked<bf16, 128, 128>(on);
  check_picked<float, 1, 1>(on);
  check_picked<float, 24, 1>(on);
  check_picked<double, 16, 64>(on);
}

}  // namespace tegula::test

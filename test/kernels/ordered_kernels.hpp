// Checks kernels whose CTAs hand data to each other: the last one sums, one waits for the one before, a lock.
#pragma once

#include "kernels/indexed_kernels.hpp"

namespace tegula::test {

/// Sums a vector in one launch: each block leaves its sum, and the last one that comes adds all of them up.
template <class Order>
inline constexpr auto total = kernel("total", [](in<float, 1> x, inout<float, 1> partials, inout<int, 1> arrived,
                                                 out<float, 1> y) {
  auto g = grid_over(x, shape<256>);
  auto blocks = partials.extent(0);
  store(partials, shape<1>, sum(load(x, shape<256>, g[0]), axis<0>), elem(g[0]));
  auto turn = atomic_add(arrived, 1, 0, Order());
  if_(turn == blocks - 1, [&] {
    tile all = loop(ceil_div(blocks, 32), zeros<float>(shape<32>),
                    [&](auto k, auto sum) { return sum + load(partials, shape<32>, k); });
    store(y, shape<1>, sum(all, axis<0>), elem(0));
  });
});

inline void check_total(Executor on) {
  std::int64_t const count = 256 * 23 + 100, blocks = 24;
  Array<float, 1> x({count}), partials({blocks}, -1), y({1}, -1);
  double sum = 0;
  for (float& v : x.values) sum += static_cast<double>(v = static_cast<float>(draw_below(17)) - 8);
  Array<int, 1> arrived({1}, 0);
  TEGULA_CHECK_RUN(on, total<decltype(order::acq_rel)>, x, partials, arrived, y);
  REQUIRE(static_cast<double>(y[0]) == sum);
  REQUIRE(arrived[0] == blocks);
}

/// Adds rows up: each block waits for the flag of the row above, and raises its own. Blocks begin in order.
inline constexpr auto running_rows = kernel("running_rows", [](in<float, 2> x, inout<float, 2> y, inout<int, 1> flags) {
  auto g = grid_over(x, shape<1, 256>);
  if_(g[0] > 0, [&] {
    while_(
        carry(0), [](auto seen) { return seen == 0; },
        [&](auto) { return carry(atomic_or(flags, 0, g[0] - 1, order::acquire)); });
  });
  tile row = load(x, shape<1, 256>, g[0], 0) + load(y, shape<1, 256>, g[0] - 1, 0);
  store(y, shape<1, 256>, row, g[0], 0);
  atomic_exchange(flags, 1, g[0], order::release, scope::device);
});

inline void check_running_rows(Executor on) {
  std::int64_t const rows = 9, width = 200;
  Array<float, 2> x({rows, width}), y({rows, width}, -1);
  for (float& v : x.values) v = draw_number<float>();
  Array<int, 1> flags({rows}, 0);
  TEGULA_CHECK_RUN(on, running_rows, x, y, flags);
  for (std::int64_t j = 0; j < width; ++j) {
    float sum = 0;
    for (std::int64_t i = 0; i < rows; ++i) REQUIRE(y[i * width + j] == (sum += x[i * width + j]));
  }
}

/// Adds the blocks' tiles to one tile that a lock guards.
inline constexpr auto locked = kernel("locked", [](in<double, 2> x, inout<double, 1> y, inout<int, 1> lock) {
  auto g = grid_over(x, shape<1, 128>);
  while_(
      carry(1), [](auto taken) { return taken != 0; },
      [&](auto) { return carry(atomic_compare_exchange(lock, 0, 1, 0, order::acquire)); });
  tile own = load(x, shape<128>, g[0], 0) * 3 + load(y, shape<128>, 0);
  store(y, shape<128>, own, 0);
  atomic_exchange(lock, 0, 0, order::release);
});

inline void check_locked(Executor on) {
  std::int64_t const rows = 11;
  Array<double, 2> x({rows, 128});
  for (double& v : x.values) v = draw_number<double>();
  Array<double, 1> y({128}, 5);
  Array<int, 1> lock({1}, 0);
  TEGULA_CHECK_RUN(on, locked, x, y, lock);
  for (std::int64_t j = 0; j < 128; ++j) {
    double sum = 5;
    for (std::int64_t i = 0; i < rows; ++i) sum += 3 * x[i * 128 + j];
    REQUIRE(y[j] == sum);
  }
}

/// Multiplies with the depth split over blocks: the last of the blocks of one tile adds their partial products.
template <int parts>
inline constexpr auto split_depth = kernel("split_depth", [](in<bf16, 2> a, in<bf16, 2> b, inout<float, 3> partials,
                                                             inout<int, 2> arrived, out<float, 2> y) {
  auto g = grid(ceil_div(y.extent(0), 64), ceil_div(y.extent(1), 64), parts);
  auto steps = ceil_div(a.extent(1), 64 * parts);
  tile own = loop(
      steps, zeros<float>(shape<64, 64>),
      [&](auto k, auto sum) {
        auto at = g[2] * steps + k;
        return dot(load(a, shape<64, 64>, g[0], at), load(b, shape<64, 64>, at, g[1]), sum);
      },
      stages<3>);
  store(partials, shape<64, 64>, own, g[2], g[0], g[1]);
  auto turn = atomic_add(arrived, 1, g[0], g[1], order::acq_rel);
  if_(turn == parts - 1, [&] {
    tile all = loop(parts, zeros<float>(shape<64, 64>),
                    [&](auto p, auto sum) { return sum + load(partials, shape<64, 64>, p, g[0], g[1]); });
    store(y, shape<64, 64>, all, g[0], g[1]);
  });
});

inline void check_split_depth(Executor on) {
  std::int64_t const m = 100, n = 128, depth = 640;
  Array<bf16, 2> a({m, depth}), b({depth, n});
  for (auto* x : {&a, &b})
    for (bf16& v : x->values) v = bf16(static_cast<float>(draw_below(9)) - 4);
  Array<float, 3> partials({3, m, n}, -1);
  Array<int, 2> arrived({2, 2}, 0);
  Array<float, 2> y({m, n}, -1);
  TEGULA_CHECK_RUN(on, split_depth<3>, a, b, partials, arrived, y);
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (std::int64_t k = 0; k < depth; ++k)
        sum += static_cast<float>(a[i * depth + k]) * static_cast<float>(b[k * n + j]);
      REQUIRE(y[i * n + j] == sum);
    }
}

/// Makes changes of every kind with an order and a scope; `how` counts the atomics.
template <int how, class T, class Order, class Scope>
inline constexpr auto ordered_change = kernel("ordered_change", [](in<T, 1> x, inout<T, 1> y) {
  auto g = grid_over(x, shape<128>);
  tile value = load(x, shape<128>, g[0]);
  tile at = iota(shape<128>, axis<0>) + g[0] * 128;
  if constexpr (how == 0) atomic_add(y, value, at, Order(), Scope());
  if constexpr (how == 1) atomic_min(y, value, at, Scope(), Order());
  if constexpr (how == 2) atomic_max(y, value, at, Order(), Scope());
  if constexpr (how == 3) atomic_exchange(y, value, at, mask(at % 3 == 0), Order(), Scope());
  if constexpr (how == 4) atomic_compare_exchange(y, 3, value, at, Order(), Scope());
  if constexpr (how == 5) atomic_and(y, value, at, Order(), Scope());
  if constexpr (how == 6) atomic_or(y, value, at, Order(), Scope());
  if constexpr (how == 7) atomic_xor(y, value, at, Order(), Scope());
});

template <int how, class T, class Order, class Scope>
void check_ordered_change(Executor on, Order, Scope) {
  std::int64_t const count = 300;
  Array<T, 1> x({count}), y({count});
  for (T& v : x.values) v = static_cast<T>(static_cast<int>(draw_below(100)));
  for (T& v : y.values) v = static_cast<T>(static_cast<int>(draw_below(5)) + 1);
  auto const before = y.values;
  TEGULA_CHECK_RUN(on, (ordered_change<how, T, Order, Scope>), x, y);
  for (std::int64_t i = 0; i < count; ++i) {
    T const old = before[static_cast<std::size_t>(i)], v = x[i];
    auto const a = static_cast<double>(old), b = static_cast<double>(v);
    T expected = old;
    if constexpr (how == 0) expected = static_cast<T>(a + b);
    if constexpr (how == 1) expected = b < a ? v : old;
    if constexpr (how == 2) expected = b > a ? v : old;
    if constexpr (how == 3) expected = i % 3 == 0 ? v : old;
    if constexpr (how == 4) expected = a == 3 ? v : old;
    if constexpr (how == 5) expected = old & v;
    if constexpr (how == 6) expected = old | v;
    if constexpr (how == 7) expected = old ^ v;
    REQUIRE(static_cast<double>(y[i]) == static_cast<double>(expected));
  }
}

template <class T>
void check_ordered_numbers(Executor on) {
  check_ordered_change<0, T>(on, order::acq_rel, scope::system);
  check_ordered_change<1, T>(on, order::acquire, scope::device);
  check_ordered_change<2, T>(on, order::release, scope::block);
}
template <class T>
void check_ordered_words(Executor on) {
  check_ordered_numbers<T>(on);
  check_ordered_change<3, T>(on, order::release, scope::device);
  check_ordered_change<4, T>(on, order::acq_rel, scope::block);
}
template <class T>
void check_ordered_integers(Executor on) {
  check_ordered_words<T>(on);
  check_ordered_change<5, T>(on, order::acquire, scope::system);
  check_ordered_change<6, T>(on, order::acq_rel, scope::device);
  check_ordered_change<7, T>(on, order::relaxed, scope::block);
}

inline void check_ordered_changes(Executor on) {
  check_ordered_numbers<f16>(on);
  check_ordered_numbers<bf16>(on);
  check_ordered_words<float>(on);
  check_ordered_words<double>(on);
  check_ordered_integers<int>(on);
  check_ordered_integers<std::int64_t>(on);
  check_ordered_integers<std::uint32_t>(on);
  check_ordered_integers<std::uint64_t>(on);
}
inline void check_ordered_kernels(Executor on) {
  check_total(on);
  check_split_depth(on);
  check_running_rows(on);
  check_locked(on);
}

}  // namespace tegula::test

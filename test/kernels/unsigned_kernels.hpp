// Checks arithmetic, reductions, scans and atomics of unsigned integers on any executor.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>

#include "kernels/indexed_kernels.hpp"

namespace tegula::test {

/// Computes with elements of all sizes, so that a signed instruction anywhere shows.
template <class T>
inline constexpr auto unsigned_arithmetic = [] {
  return kernel("unsigned_arithmetic", [](in<T, 1> a, in<T, 1> b, out<T, 2> y, out<float, 2> z) {
    auto g = grid_over(a, shape<64>);
    tile x = load(a, shape<64>, g[0]);
    tile d = load(b, shape<64>, g[0]);
    auto const put = [&](int row, auto&& value) {
      tile line = static_cast<decltype(value)&&>(value);
      store(y, shape<1, 64>, expand_dims(line, axis<0>), row, g[0]);
    };
    put(0, x / d);
    put(1, x % d);
    put(2, x >> (d % T{70}));
    put(3, min(x, d));
    put(4, max(x, d) * x);
    put(5, select(x > d, x - d, d - x));
    put(6, cumsum(x, axis<0>));
    put(7, (x & T{0}) ^ max(x, axis<0>) ^ min(d, axis<0>));
    put(8, cast<T>(cast<float>(x)));
    put(9, population_count(x) + leading_zeros(d));
    tile f = cast<float>(x);
    store(z, shape<1, 64>, expand_dims(f, axis<0>), 0, g[0]);
    tile h = cast<float>(cast<bf16>(x));
    store(z, shape<1, 64>, expand_dims(h, axis<0>), 1, g[0]);
  });
}();

/// Takes minima and maxima of all blocks.
template <class T>
inline constexpr auto unsigned_atomics = [] {
  return kernel("unsigned_atomics", [](in<T, 1> a, inout<T, 1> y) {
    auto g = grid_over(a, shape<64>);
    tile x = load(a, shape<64>, g[0]);
    tile zero = zeros<int>(shape<64>);
    atomic_min(y, x, zero);
    atomic_max(y, x, zero + 1);
    atomic_add(y, x, zero + 2);
  });
}();

template <class T>
void check_unsigned(Executor on) {
  constexpr std::int64_t count = 640;
  Array<T, 1> a({count}), b({count});
  auto const draw = [] { return static_cast<T>(indexed_engine()() >> draw_below(64)); };
  for (T& x : a.values) x = draw();
  for (T& x : b.values) x = draw();
  Array<T, 2> y({10, count});
  Array<float, 2> z({2, count});
  TEGULA_CHECK_RUN(on, unsigned_arithmetic<T>, a, b, y, z);
  constexpr T bits = 8 * sizeof(T);
  for (std::int64_t block = 0; block < count; block += 64) {
    T sum = 0, largest = 0, smallest = static_cast<T>(-1);
    for (std::int64_t i = block; i < block + 64; ++i) {
      largest = std::max(largest, a[i]);
      smallest = std::min(smallest, b[i]);
    }
    for (std::int64_t i = block; i < block + 64; ++i) {
      T const x = a[i], d = b[i], amount = d % 70;
      sum = static_cast<T>(sum + x);
      INFO("element " << i << " of " << name(element_v<T>) << ": " << x << ", " << d << " on " << name(on));
      CHECK(y[i] == (d == 0 ? T{0} : x / d));
      CHECK(y[count + i] == (d == 0 ? x : x % d));
      CHECK(y[2 * count + i] == (amount >= bits ? T{0} : x >> amount));
      CHECK(y[3 * count + i] == std::min(x, d));
      CHECK(y[4 * count + i] == static_cast<T>(std::max(x, d) * x));
      CHECK(y[5 * count + i] == (x > d ? x - d : d - x));
      CHECK(y[6 * count + i] == sum);
      CHECK(y[7 * count + i] == (largest ^ smallest));
      auto const rounded = static_cast<float>(x);
      bool const saturates = rounded >= std::ldexp(1.0F, static_cast<int>(bits));
      CHECK(y[8 * count + i] == (saturates ? static_cast<T>(-1) : static_cast<T>(rounded)));
      CHECK(y[9 * count + i] == static_cast<T>(std::popcount(x) + std::countl_zero(d)));
      CHECK(z[i] == rounded);
      CHECK(std::abs(static_cast<double>(z[count + i]) - static_cast<double>(x)) <= 0x1p-8 * static_cast<double>(x));
    }
  }
  Array<T, 1> all({3});
  all[0] = static_cast<T>(-1);
  TEGULA_CHECK_RUN(on, unsigned_atomics<T>, a, all);
  T sum = 0;
  for (T const x : a.values) sum = static_cast<T>(sum + x);
  CHECK(all[0] == *std::min_element(a.values.begin(), a.values.end()));
  CHECK(all[1] == *std::max_element(a.values.begin(), a.values.end()));
  CHECK(all[2] == sum);
}

inline void check_unsigned_elements(Executor on) {
  check_unsigned<std::uint32_t>(on);
  check_unsigned<std::uint64_t>(on);
}

}  // namespace tegula::test

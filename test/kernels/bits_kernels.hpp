// Checks counts of bits on any executor.
#pragma once

#include <bit>

#include "kernels/indexed_kernels.hpp"

namespace tegula::test {

template <class T>
inline constexpr auto counted_bits = kernel("counted_bits", [](in<T, 1> x, out<T, 2> y) {
  auto g = grid_over(x, shape<128>);
  tile a = load(x, shape<128>, g[0]);
  store(y, shape<128>, population_count(a), 0, g[0]);
  store(y, shape<128>, leading_zeros(a), 1, g[0]);
  store(y, shape<128>, trailing_zeros(a), 2, g[0]);
});

/// Rotates by a number and by amounts of any size.
template <class T>
inline constexpr auto rotated_bits = kernel("rotated_bits", [](in<T, 1> x, in<T, 1> amounts, out<T, 2> y) {
  auto g = grid_over(x, shape<128>);
  tile a = load(x, shape<128>, g[0]), by = load(amounts, shape<128>, g[0]);
  store(y, shape<128>, rotate_left(a, 7), 0, g[0]);
  store(y, shape<128>, rotate_right(a, by), 1, g[0]);
  store(y, shape<128>, rotate_left(a, by), 2, g[0]);
});

/// Rounds quotients up, of tiles and of a tile and a number.
template <class T>
inline constexpr auto rounded_quotients = kernel("rounded_quotients", [](in<T, 1> x, in<T, 1> z, out<T, 2> y) {
  auto g = grid_over(x, shape<128>);
  tile a = load(x, shape<128>, g[0]), b = load(z, shape<128>, g[0], pad(1));
  store(y, shape<128>, ceil_div(a, b), 0, g[0]);
  store(y, shape<128>, ceil_div(a, 7), 1, g[0]);
});

template <class T>
void check_rounded_quotients(Executor on) {
  constexpr std::int64_t count = 500;
  Array<T, 1> x({count}), z({count});
  Array<T, 2> y({2, count});
  for (T& v : x.values) v = static_cast<T>(draw_below(100000));
  for (T& v : z.values) v = static_cast<T>(1 + draw_below(300));
  TEGULA_CHECK_RUN(on, rounded_quotients<T>, x, z, y);
  for (std::int64_t i = 0; i < count; ++i) {
    REQUIRE(y[i] == (x[i] + z[i] - 1) / z[i]);
    REQUIRE(y[count + i] == (x[i] + 6) / 7);
  }
}

__extension__ using SignedTwice = __int128;
__extension__ using UnsignedTwice = unsigned __int128;

/// Returns upper halves of products of tiles, and of a tile and a number.
template <class T>
inline constexpr auto high_products = kernel("high_products", [](in<T, 1> x, in<T, 1> z, out<T, 2> y) {
  auto g = grid_over(x, shape<128>);
  tile a = load(x, shape<128>, g[0]), b = load(z, shape<128>, g[0]);
  store(y, shape<128>, multiply_high(a, b), 0, g[0]);
  store(y, shape<128>, multiply_high(a, 1000003), 1, g[0]);
});

template <class T>
void check_high_products(Executor on) {
  constexpr std::int64_t count = 500;
  Array<T, 1> x({count}), z({count});
  Array<T, 2> y({2, count});
  for (T& v : x.values) v = static_cast<T>(indexed_engine()());
  for (T& v : z.values) v = static_cast<T>(indexed_engine()());
  TEGULA_CHECK_RUN(on, high_products<T>, x, z, y);
  auto const high = [](T a, T b) {
    if constexpr (std::is_signed_v<T>)
      return static_cast<T>((static_cast<SignedTwice>(a) * static_cast<SignedTwice>(b)) >> (8 * sizeof(T)));
    else
      return static_cast<T>((static_cast<UnsignedTwice>(a) * static_cast<UnsignedTwice>(b)) >> (8 * sizeof(T)));
  };
  for (std::int64_t i = 0; i < count; ++i) {
    REQUIRE(y[i] == high(x[i], z[i]));
    REQUIRE(y[count + i] == high(x[i], T{1000003}));
  }
}

template <class T>
void check_rotated_bits(Executor on) {
  constexpr std::int64_t count = 500;
  using Unsigned = std::make_unsigned_t<T>;
  Array<T, 1> x({count}), amounts({count});
  Array<T, 2> y({3, count});
  for (T& v : x.values) v = static_cast<T>(indexed_engine()());
  for (T& v : amounts.values)
    v = static_cast<T>(draw_below(4) == 0 ? 0 : draw_below(300) - (std::is_signed_v<T> ? 150 : 0));
  TEGULA_CHECK_RUN(on, rotated_bits<T>, x, amounts, y);
  for (std::int64_t i = 0; i < count; ++i) {
    auto const value = static_cast<Unsigned>(x[i]);
    auto const by = static_cast<int>(static_cast<Unsigned>(amounts[i]) % (8 * sizeof(T)));
    REQUIRE(static_cast<Unsigned>(y[i]) == std::rotl(value, 7));
    REQUIRE(static_cast<Unsigned>(y[count + i]) == std::rotr(value, by));
    REQUIRE(static_cast<Unsigned>(y[2 * count + i]) == std::rotl(value, by));
  }
}

template <class T>
void check_counted_bits(Executor on) {
  constexpr std::int64_t count = 1000;
  using Unsigned = std::make_unsigned_t<T>;
  Array<T, 1> x({count});
  Array<T, 2> y({3, count});
  for (std::int64_t i = 0; i < count; ++i) {
    auto const bits = static_cast<Unsigned>(indexed_engine()());
    auto const shift = static_cast<unsigned>(draw_below(8 * sizeof(T)));
    x[i] = static_cast<T>(i == 0 ? 0 : i == 1 ? ~Unsigned{0} : i % 2 == 0 ? bits >> shift : bits << shift);
  }
  TEGULA_CHECK_RUN(on, counted_bits<T>, x, y);
  for (std::int64_t i = 0; i < count; ++i) {
    auto const value = static_cast<Unsigned>(x[i]);
    REQUIRE(y[i] == std::popcount(value));
    REQUIRE(y[count + i] == std::countl_zero(value));
    REQUIRE(y[2 * count + i] == std::countr_zero(value));
  }
}

}  // namespace tegula::test

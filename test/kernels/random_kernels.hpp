// Checks random numbers on any executor against Philox4x32-10 in C++.
#pragma once

#include <array>
#include <cmath>
#include <limits>
#include <type_traits>

#include "kernels/indexed_kernels.hpp"

namespace tegula::test {

/// Returns the four words of Philox4x32-10.
inline std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    std::uint64_t const left = std::uint64_t{0xD2511F53} * counter[0], right = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<std::uint32_t>(right >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(right),
               static_cast<std::uint32_t>(left >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(left)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}
/// Returns the words that four places share.
inline std::array<std::uint32_t, 4> philox_at(std::int64_t seed, std::int64_t place) {
  auto const s = static_cast<std::uint64_t>(seed), p = static_cast<std::uint64_t>(place >> 2);
  return philox({static_cast<std::uint32_t>(p), static_cast<std::uint32_t>(p >> 32), 0, 0},
                {static_cast<std::uint32_t>(s), static_cast<std::uint32_t>(s >> 32)});
}

template <std::int64_t size>
inline constexpr auto drawn = kernel("drawn", [](arg<std::int64_t> seed, in<std::int64_t, 1> places, out<int, 1> bits,
                                                 out<float, 1> uniform, out<float, 1> normal) {
  auto g = grid_over(bits, shape<size>);
  tile place = load(places, shape<size>, g[0]);
  store(bits, shape<size>, random_bits(seed, place), g[0]);
  store(uniform, shape<size>, random_uniform(seed, place), g[0]);
  store(normal, shape<size>, random_normal(seed, place), g[0]);
});

/// Requires the numbers of a place.
inline void require_drawn(std::int64_t seed, std::int64_t place, int bits, float uniform, float normal) {
  auto const words = philox_at(seed, place);
  std::size_t const own = static_cast<std::size_t>(place & 3), pair = own & 2;
  REQUIRE(static_cast<std::uint32_t>(bits) == words[own]);
  REQUIRE(uniform == static_cast<float>(words[own] >> 8) * 0x1p-24F);
  double const u = static_cast<double>(words[pair] >> 8) * 0x1p-24;
  double const angle = static_cast<double>(words[pair + 1] >> 8) * 0x1p-24 * 6.2831853071795864769;
  double const expected = std::sqrt(-2 * std::log(1 - u)) * (own % 2 == 0 ? std::cos(angle) : std::sin(angle));
  REQUIRE(std::abs(static_cast<double>(normal) - expected) <= 4e-6 * std::max(1.0, std::sqrt(-2 * std::log(1 - u))));
}

template <std::int64_t size>
void check_drawn(Executor on) {
  auto seed = static_cast<std::int64_t>(indexed_engine()());
  constexpr std::int64_t count = 1500;
  Array<std::int64_t, 1> places({count});
  for (std::int64_t i = 0; i < count; ++i) places[i] = i < 1000 ? i : static_cast<std::int64_t>(indexed_engine()());
  Array<int, 1> bits({count});
  Array<float, 1> uniform({count}), normal({count});
  TEGULA_CHECK_RUN(on, drawn<size>, seed, places, bits, uniform, normal);
  for (std::int64_t i = 0; i < count; ++i) require_drawn(seed, places[i], bits[i], uniform[i], normal[i]);
}

/// Draws for places that count up along a row, from one that the launch states: a thread shares counters.
template <class P>
inline constexpr auto drawn_in_rows = kernel("drawn_in_rows", [](arg<std::int64_t> seed, arg<P> first, arg<P> step,
                                                                 out<int, 2> bits, out<float, 2> uniform,
                                                                 out<float, 2> normal) {
  auto g = grid_over(bits, shape<4, 64>);
  tile row = cast<P>(iota(shape<4, 1>, axis<0>)) + cast<P>(g[0]) * 4;
  tile place = row * step + first + (cast<P>(iota(shape<1, 64>, axis<1>)) + cast<P>(g[1]) * 64);
  store(bits, shape<4, 64>, random_bits(seed, place), g[0], g[1]);
  store(uniform, shape<4, 64>, random_uniform(seed, place), g[0], g[1]);
  store(normal, shape<4, 64>, random_normal(seed, place), g[0], g[1]);
});

/// Draws around 0, around the end of P's range, where places wrap, and elsewhere; rows begin at any place of four.
template <class P>
void check_drawn_in_rows(Executor on) {
  constexpr std::int64_t rows = 9, columns = 150;
  auto const seed = static_cast<std::int64_t>(indexed_engine()());
  auto const any = static_cast<P>(indexed_engine()());
  for (P const first : {P{-5}, static_cast<P>(std::numeric_limits<P>::max() - 70), any})
    for (P const step : {P{columns}, P{columns + 3}, P{160}}) {
      Array<int, 2> bits({rows, columns});
      Array<float, 2> uniform({rows, columns}), normal({rows, columns});
      TEGULA_CHECK_RUN(on, drawn_in_rows<P>, seed, first, step, bits, uniform, normal);
      for (std::int64_t i = 0; i < rows * columns; ++i) {
        using Unsigned = std::make_unsigned_t<P>;
        auto const place = static_cast<Unsigned>(first) +
                           static_cast<Unsigned>(i / columns) * static_cast<Unsigned>(step) +
                           static_cast<Unsigned>(i % columns);
        require_drawn(seed, static_cast<P>(place), bits[i], uniform[i], normal[i]);
      }
    }
}

/// Drops elements of 16 bits, of which a thread has eight in a row.
template <bool aligned>
inline constexpr auto dropout_of_halves = kernel("dropout_of_halves", [](in<bf16, 2> x, out<bf16, 2> y) {
  constexpr int width = 256;
  auto g = grid_over(y, shape<1, width>);
  tile place = iota(shape<width>, axis<0>) + [&] {
    if constexpr (aligned)
      return g[0] * width;
    else
      return g[0] * x.extent(1);
  }();
  tile kept = random_uniform(1234, place) < 0.75F;
  store(y, shape<width>, select(kept, load(x, shape<width>, g[0], 0), 0), g[0], 0);
});

template <bool aligned>
void check_dropout_of_halves(Executor on) {
  constexpr std::int64_t rows = 11, columns = 250;
  Array<bf16, 2> x({rows, columns}, bf16(3.0F)), y({rows, columns});
  TEGULA_CHECK_RUN(on, dropout_of_halves<aligned>, x, y);
  for (std::int64_t i = 0; i < rows * columns; ++i) {
    std::int64_t const place = aligned ? i / columns * 256 + i % columns : i;
    bool const keeps = philox_at(1234, place)[static_cast<std::size_t>(place % 4)] >> 8 < 3U << 22;
    REQUIRE(static_cast<float>(y[i]) == (keeps ? 3.0F : 0.0F));
  }
}

/// Dropout by places in i32, with a seed in the kernel's text.
inline constexpr auto dropout = kernel("dropout", [](in<float, 2> x, out<float, 2> y) {
  auto g = grid_over(y, shape<16, 64>);
  tile row = iota(shape<16, 1>, axis<0>) + cast<int>(g[0] * 16);
  tile place = row * cast<int>(x.extent(1)) + (iota(shape<1, 64>, axis<1>) + cast<int>(g[1] * 64));
  tile kept = random_uniform(1234, place) < 0.75F;
  store(y, shape<16, 64>, select(kept, load(x, shape<16, 64>, g[0], g[1]) / 0.75F, 0.0F), g[0], g[1]);
});

inline void check_dropout(Executor on) {
  Array<float, 2> x({200, 150}, 3.0F), y({200, 150});
  TEGULA_CHECK_RUN(on, dropout, x, y);
  std::int64_t kept = 0;
  for (std::int64_t i = 0; i < 200 * 150; ++i) {
    bool const keeps = philox_at(1234, i)[static_cast<std::size_t>(i % 4)] >> 8 < 3U << 22;
    REQUIRE(y[i] == (keeps ? 4.0F : 0.0F));
    kept += keeps ? 1 : 0;
  }
  REQUIRE(std::abs(static_cast<double>(kept) / (200 * 150) - 0.75) < 0.02);
}

}  // namespace tegula::test

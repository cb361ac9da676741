// Checks random numbers on any executor against Philox4x32-10 in C++.
#pragma once

#include <array>
#include <cmath>

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
inline std::array<std::uint32_t, 4> philox_at(std::int64_t seed, std::int64_t place) {
  auto const s = static_cast<std::uint64_t>(seed), p = static_cast<std::uint64_t>(place);
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

template <std::int64_t size>
void check_drawn(Executor on) {
  auto seed = static_cast<std::int64_t>(indexed_engine()());
  constexpr std::int64_t count = 1500;
  Array<std::int64_t, 1> places({count});
  for (std::int64_t i = 0; i < count; ++i) places[i] = i < 1000 ? i : static_cast<std::int64_t>(indexed_engine()());
  Array<int, 1> bits({count});
  Array<float, 1> uniform({count}), normal({count});
  TEGULA_CHECK_RUN(on, drawn<size>, seed, places, bits, uniform, normal);
  for (std::int64_t i = 0; i < count; ++i) {
    auto const words = philox_at(seed, places[i]);
    REQUIRE(static_cast<std::uint32_t>(bits[i]) == words[0]);
    REQUIRE(uniform[i] == static_cast<float>(words[0] >> 8) * 0x1p-24F);
    double const u = static_cast<double>(words[0] >> 8) * 0x1p-24, v = static_cast<double>(words[1] >> 8) * 0x1p-24;
    double const expected = std::sqrt(-2 * std::log(1 - u)) * std::cos(v * 6.2831853071795864769);
    REQUIRE(std::abs(static_cast<double>(normal[i]) - expected) <=
            4e-6 * std::max(1.0, std::sqrt(-2 * std::log(1 - u))));
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
    bool const keeps = philox_at(1234, i)[0] >> 8 < 3U << 22;
    REQUIRE(y[i] == (keeps ? 4.0F : 0.0F));
    kept += keeps ? 1 : 0;
  }
  REQUIRE(std::abs(static_cast<double>(kept) / (200 * 150) - 0.75) < 0.02);
}

}  // namespace tegula::test

// Kernels whose indices and bounds of loops lie anywhere in 64 bits.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "tegula/tegula.hpp"

namespace tegula::test::far {

inline constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
inline constexpr std::int64_t highest = std::numeric_limits<std::int64_t>::max();

/// Lists numbers at which sums and products of indices wrap, and some of the tensor's own.
inline std::vector<std::int64_t> edges() {
  std::vector<std::int64_t> result = {0, 1, 3, 4, 5, 7, 39, 40, -1, -2, -5, -8, -9, highest, lowest, lowest + 1};
  for (int bit : {31, 32, 52, 53, 58, 59, 60, 61, 62})
    for (std::int64_t const near : {-9, -1, 0, 1, 5, 8})
      for (std::int64_t const sign : {-1, 1}) result.push_back(sign * ((std::int64_t{1} << bit) + near));
  for (std::int64_t const near : {1, 7, 8, 9, 40, 63, 4095, 4096}) {
    result.push_back(highest - near);
    result.push_back(lowest + near);
  }
  return result;
}

inline constexpr std::int64_t extent = 40;

inline constexpr auto store_tile = kernel("store_tile", [](inout<float, 1> x, arg<std::int64_t> at) {
  grid(1);
  store(x, shape<8>, full<float>(shape<8>, 9), at);
});
inline constexpr auto store_from_data = kernel("store_from_data", [](inout<float, 1> x, in<std::int64_t, 1> at) {
  grid(1);
  store(x, shape<8>, full<float>(shape<8>, 9), max(load(at, 0), std::int64_t{-100}));
});
inline constexpr auto store_elements = kernel("store_elements", [](inout<float, 1> x, arg<std::int64_t> at) {
  grid(1);
  store(x, shape<8>, full<float>(shape<8>, 9), elem(at));
});
inline constexpr auto add_tile = kernel("add_tile", [](inout<float, 1> x, arg<std::int64_t> at) {
  grid(1);
  atomic_add(x, shape<8>, full<float>(shape<8>, 9), at);
});
inline constexpr auto load_tile = kernel("load_tile", [](in<float, 1> x, out<float, 1> y, arg<std::int64_t> at) {
  grid(1);
  store(y, shape<8>, load(x, shape<8>, at, pad(-7)), 0);
});
inline constexpr auto masked = kernel("masked", [](out<float, 1> y, arg<std::int64_t> at, arg<std::int64_t> limit) {
  grid(1);
  tile ones = full<float>(shape<4096>, 1);
  store(y, shape<4096>, select(iota(shape<4096>, axis<0>) + at < limit, ones, 0), 0);
});
inline constexpr auto masked_outside =
    kernel("masked_outside", [](out<float, 1> y, arg<std::int64_t> at, arg<std::int64_t> limit) {
      grid(1);
      store(y, shape<4096>, mask_outside(full<float>(shape<4096>, 1), axis<0>, at, limit, 0), 0);
    });
inline constexpr auto counted = kernel(
    "counted", [](out<std::int64_t, 1> y, arg<std::int64_t> lower, arg<std::int64_t> upper, arg<std::int64_t> step) {
      grid(1);
      tile n =
          loop(range(lower, upper, step), zeros<std::int64_t>(shape<8>), [&](auto i, auto sum) { return sum * 3 + i; });
      store(y, shape<8>, n, 0);
    });

/// Lists lower and upper bounds and steps of loops that end near the ends of 64 bits.
inline constexpr std::int64_t loops[][3] = {{0, 10, 3},
                                            {5, 5, 1},
                                            {7, -7, 2},
                                            {highest - 3, highest, 2},
                                            {highest - 1, highest, 1},
                                            {0, highest, highest - 1},
                                            {0, highest, highest},
                                            {90, highest, highest / 2},
                                            {lowest, highest, highest},
                                            {lowest, lowest + 5, 2},
                                            {lowest, lowest, 1},
                                            {highest, lowest, 1},
                                            {-5, lowest, 1},
                                            {lowest, 0, std::int64_t{1} << 62},
                                            {lowest + 1, highest, std::int64_t{1} << 61},
                                            {(std::int64_t{1} << 62) - 1, (std::int64_t{1} << 62) + 6, 3}};

/// Shifts numbers by amounts of 64 bits: left, and right as unsigned and signed.
inline constexpr auto shifted = kernel("shifted", [](in<std::uint64_t, 1> x, in<std::uint64_t, 1> by,
                                                     out<std::uint64_t, 1> left, out<std::uint64_t, 1> right) {
  auto g = grid_over(left, shape<64>);
  tile numbers = load(x, shape<64>, g[0]);
  tile amounts = load(by, shape<64>, g[0]);
  store(left, shape<64>, numbers << amounts, g[0]);
  store(right, shape<64>, numbers >> amounts, g[0]);
});

}  // namespace tegula::test::far

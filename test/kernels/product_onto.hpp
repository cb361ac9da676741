// Defines products of tiles as kernels of the language, persistent on a GPU: one adds to the output's contents, one
// begins at any row. Tests of the host and of devices share them.
#pragma once

#include "tegula/tegula.hpp"

namespace tegula::test {

/// Adds a product to the output, by tiles of BM x BN, in steps of BK along the depth.
template <int BM, int BN, int BK>
inline constexpr auto product_onto = kernel("product", [](in<f16, 2> a, in<f16, 2> b, inout<float, 2> c) {
  auto at = grid_over(c, shape<BM, BN>);
  tile sums = loop(
      ceil_div(a.extent(1), BK), zeros<float>(shape<BM, BN>),
      [&](auto k, auto acc) { return dot(load(a, shape<BM, BK>, at[0], k), load(b, shape<BK, BN>, k, at[1]), acc); },
      stages<2>);
  store(c, shape<BM, BN>, sums + load(c, shape<BM, BN>, at[0], at[1]), at[0], at[1]);
});

/// Computes a product of 64 x 64 tiles whose left rows begin at the tile that the launch names.
inline constexpr auto product_from =
    kernel("product_from", [](in<f16, 2> a, in<f16, 2> b, out<float, 2> c, arg<std::int64_t> from) {
      auto at = grid_over(c, shape<64, 64>);
      tile sums = loop(
          ceil_div(a.extent(1), 64), zeros<float>(shape<64, 64>),
          [&](auto k, auto acc) {
            return dot(load(a, shape<64, 64>, from + at[0], k), load(b, shape<64, 64>, k, at[1]), acc);
          },
          stages<2>);
      store(c, shape<64, 64>, sums, at[0], at[1]);
    });

}  // namespace tegula::test

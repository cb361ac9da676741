// Adds a product of tiles to what the output holds: a kernel of the language that is persistent on a GPU. Tests of the
// host and of devices share it.
#pragma once

#include "tegula/tegula.hpp"

namespace tegula::test {

/// Tiles of BM x BN, in steps of BK along the depth.
template <int BM, int BN, int BK>
inline constexpr auto product_onto = kernel("product", [](in<f16, 2> a, in<f16, 2> b, inout<float, 2> c) {
  auto at = grid_over(c, shape<BM, BN>);
  tile sums = loop(
      ceil_div(a.extent(1), BK), zeros<float>(shape<BM, BN>),
      [&](auto k, auto acc) { return dot(load(a, shape<BM, BK>, at[0], k), load(b, shape<BK, BN>, k, at[1]), acc); },
      stages<2>);
  store(c, shape<BM, BN>, sums + load(c, shape<BM, BN>, at[0], at[1]), at[0], at[1]);
});

}  // namespace tegula::test

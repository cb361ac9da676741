// Defines a kernel whose loads travel by TMA where it can copy them.
#pragma once

#include "tegula/tegula.hpp"

namespace tegula::test {

/// Sums columns. Its loop with stages becomes a ring.
inline constexpr auto column_sums = kernel("column_sums", [](in<float, 2> x, out<float, 2> y) {
  auto g = grid_over(y, shape<1, 64>);
  tile total = loop(
      ceil_div(x.extent(0), 16), zeros<float>(shape<1, 64>),
      [&](auto i, auto before) { return before + sum(load(x, shape<16, 64>, i, g[1]), axis<0>); }, stages<2>);
  store(y, shape<1, 64>, total, 0, g[1]);
});

}  // namespace tegula::test

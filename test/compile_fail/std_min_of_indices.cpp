// expect: the arguments of std::min must be numbers; of traced scalars write min(a, b)
// rows: N3
#include <tegula/dsl/dsl.hpp>

#include <algorithm>
#include <cmath>

using namespace tegula;

constexpr auto k = kernel("k", [](out<float, 1> y) {
  auto g = grid_over(y, shape<64>);
  store(y, shape<64>, 1.F, std::min(g[0], 3));
});

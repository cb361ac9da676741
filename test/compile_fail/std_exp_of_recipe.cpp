// expect: the arguments of std::exp must be numbers; of tiles and traced scalars write exp(x)
// rows: N3
#include <tegula/dsl/dsl.hpp>

#include <algorithm>
#include <cmath>

using namespace tegula;

constexpr auto k = kernel("k", [](in<float, 1> x, out<float, 1> y) {
  auto g = grid_over(y, shape<64>);
  store(y, shape<64>, std::exp(load(x, shape<64>, g[0]) + 1), g[0]);
});

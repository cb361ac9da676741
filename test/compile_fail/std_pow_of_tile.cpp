// expect: the arguments of std::pow must be numbers; of tiles and traced scalars write pow(a, b)
// rows: N3
#include <tegula/dsl/dsl.hpp>

#include <algorithm>
#include <cmath>

using namespace tegula;

constexpr auto k = kernel("k", [](in<float, 1> x, out<float, 1> y) {
  auto g = grid_over(y, shape<64>);
  tile a = load(x, shape<64>, g[0]);
  store(y, shape<64>, std::pow(2.F, a), g[0]);
});

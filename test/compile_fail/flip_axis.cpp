// expect: flip: the tile must have this axis
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](in<float, 2> x, out<float, 2> y) {
  auto g = grid_over(y, shape<8, 32>);
  store(y, shape<8, 32>, flip(load(x, shape<8, 32>, g[0], g[1]), axis<2>), g[0], g[1]);
});

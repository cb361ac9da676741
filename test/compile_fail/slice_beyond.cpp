// expect: slice: the box must not reach beyond the tile
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](in<float, 2> x, out<float, 2> y) {
  auto g = grid_over(y, shape<8, 32>);
  store(y, shape<8, 32>, slice(load(x, shape<8, 48>, g[0], g[1]), shape<8, 32>, offset<0, 17>), g[0], g[1]);
});

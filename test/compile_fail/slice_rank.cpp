// expect: slice: shape and offset must give one number for each axis of the tile
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](in<float, 2> x, out<float, 2> y) {
  auto g = grid_over(y, shape<8, 32>);
  store(y, shape<8, 32>, slice(load(x, shape<8, 48>, g[0], g[1]), shape<8, 32>, offset<16>), g[0], g[1]);
});

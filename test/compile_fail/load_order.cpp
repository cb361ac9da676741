// expect: load: load(tensor, shape<...>, indices..., pad(x)) loads a tile, load(tensor, indices..., pad(x)) one
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](in<float, 1> x, out<float, 1> y) {
  auto g = grid_over(y, shape<64>);
  store(y, shape<64>, load(x, g[0], shape<64>), g[0]);
});

// expect: ranks: the tile must have one axis: reshape it
// rows: N3
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](in<int, 2> x, out<int, 2> y) {
  auto g = grid_over(y, shape<8, 64>);
  store(y, shape<8, 64>, ranks(load(x, shape<8, 64>, g[0], g[1]), bins<16>), g[0], g[1]);
});

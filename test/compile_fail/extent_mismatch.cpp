// expect: the tiles' extents must be equal, and only extent 1 broadcasts
// rows: N3
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](in<float, 1> x, out<float, 1> y) {
  auto g = grid_over(y, shape<64>);
  store(y, shape<64>, load(x, shape<64>, g[0]) + load(x, shape<32>, g[0]), g[0]);
});

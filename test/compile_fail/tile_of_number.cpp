// expect: a tile must be bound to an expression of tiles
// rows: N3
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](in<float, 1> x, out<float, 1> y) {
  auto g = grid_over(y, shape<64>);
  tile v = 3;
  store(y, shape<64>, 0, g[0]);
});

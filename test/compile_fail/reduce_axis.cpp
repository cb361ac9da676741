// expect: a reduction must be along axes that the tile has
// rows: N3
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](in<float, 1> x, out<float, 1> y) {
  auto g = grid_over(y, shape<64>);
  tile v = sum(load(x, shape<64>, g[0]), axis<1>);
  store(y, shape<64>, v, g[0]);
});

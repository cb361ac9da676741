// expect: tile: the recipe must have the variable's shape
// rows: N3
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](in<float, 1> x, out<float, 1> y) {
  auto g = grid_over(y, shape<64>);
  tile v = load(x, shape<64>, g[0]);
  v = load(x, shape<32>, g[0]);
  store(y, shape<64>, v, g[0]);
});

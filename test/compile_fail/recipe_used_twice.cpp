// expect: an expression of tiles is a recipe for one use, and must not be used by name
// rows: N3
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](in<float, 1> x, out<float, 1> y) {
  auto g = grid_over(y, shape<64>);
  auto v = load(x, shape<64>, g[0]) + 1;
  store(y, shape<64>, v * v, g[0]);
});

// expect: an expression of tiles is a recipe for one use, and must not be used by name
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](in<float, 1> x, out<float, 1> y) {
  auto g = grid_over(y, shape<64>);
  auto a = load(x, shape<64>, g[0]) * 2;
  a += 1;
  store(y, shape<64>, 0.0F, g[0]);
});

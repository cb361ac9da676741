// expect: join: both tiles must have the same shape
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](in<float, 2> x, out<float, 2> y) {
  auto g = grid_over(y, shape<8, 32>);
  tile a = load(x, shape<8, 16>, g[0], g[1]);
  tile b = load(x, shape<8, 8>, g[0], g[1]);
  tile c = join(a, b);
});

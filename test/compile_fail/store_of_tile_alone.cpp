// expect: the arguments of store must be a tensor parameter, the shape of the box, a tile of that shape or a number
// rows: N3
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](in<float, 1> x, out<float, 1> y) {
  auto g = grid_over(y, shape<64>);
  tile a = load(x, shape<64>, g[0]);
  store(y, a, g[0]);
});

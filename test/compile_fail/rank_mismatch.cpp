// expect: the tiles must have the same rank: use expand_dims or squeeze
// rows: N3
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](in<float, 1> x, out<float, 2> y) {
  auto g = grid_over(y, shape<64, 64>);
  store(y, shape<64, 64>, zeros<float>(shape<64, 64>) + load(x, shape<64>, g[1]), g[0], g[1]);
});

// expect: a scalar beside an integer tile must not be fractional: cast the tile first
// rows: N3
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](in<int, 1> x, out<int, 1> y) {
  auto g = grid_over(y, shape<64>);
  store(y, shape<64>, load(x, shape<64>, g[0]) * 0.5, g[0]);
});

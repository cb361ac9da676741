// expect: a tile must not be indexed by []: item(x, i) returns one element
// rows: N3
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](in<float, 1> x, out<float, 1> y) {
  auto g = grid_over(y, shape<64>);
  tile v = load(x, shape<64>, g[0]);
  store(y, shape<64>, v[0] + v, g[0]);
});

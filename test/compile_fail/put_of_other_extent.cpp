// expect: put_at: there must be one place for each element of the tile
// rows: N3
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](in<float, 1> x, out<float, 1> y) {
  auto g = grid_over(y, shape<64>);
  store(y, shape<64>, put_at(load(x, shape<64>, g[0]), iota<int>(shape<32>, axis<0>)), g[0]);
});

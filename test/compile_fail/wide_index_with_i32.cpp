// expect: a 64-bit index must not be combined with an i32 tile, which would truncate it
// rows: N3
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](out<int, 1> y) {
  auto g = grid_over(y, shape<64>);
  store(y, shape<64>, iota<int>(shape<64>, axis<0>) + g[0] * 64, g[0]);
});

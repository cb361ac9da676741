// expect: a tile must have a value from the beginning
// rows: N3
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](out<float, 1> y) {
  auto g = grid_over(y, shape<64>);
  tile<float, Shape<64>> a;
  store(y, shape<64>, a, g[0]);
});

// expect: device_print: a printed value must be a scalar, a number or a tile; load elements of a tensor first
// rows: N3
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](in<float, 1> x, out<float, 1> y) {
  auto g = grid_over(y, shape<64>);
  device_print("x is", x);
  store(y, shape<64>, 0, g[0]);
});

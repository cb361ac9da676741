// expect: && must know its left side to skip its right side, and no traced value is known while the kernel is traced
// rows: N3
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](in<float, 1> x, out<float, 1> y) {
  auto g = grid_over(y, shape<64>);
  tile v = load(x, shape<64>, g[0]);
  store(y, shape<64>, select(v > 0 && v < 1, v, 0), g[0]);
});

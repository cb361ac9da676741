// expect: && cannot skip its right side, because its left side is not known while the kernel is traced: use &
// rows: N3
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](in<float, 1> x, out<float, 1> y) {
  auto g = grid_over(y, shape<64>);
  tile v = load(x, shape<64>, g[0]);
  store(y, shape<64>, select(v > 0 && v < 1, v, 0), g[0]);
});

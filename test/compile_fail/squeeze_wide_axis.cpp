// expect: squeeze: a dropped axis must have extent 1
// rows: F26
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](in<float, 2> x, out<float, 1> y) {
  auto g = grid_over(y, shape<64>);
  store(y, shape<64>, squeeze(load(x, shape<2, 64>, 0, g[0]), axis<0>), g[0]);
});

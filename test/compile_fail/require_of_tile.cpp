// expect: require: the condition must be a comparison of extents and arguments
// rows: N3
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](in<float, 1> x, out<float, 1> y) {
  auto g = grid_over(y, shape<64>);
  require(load(x, shape<64>, g[0]) > 0, "positive");
  store(y, shape<64>, 0, g[0]);
});

// expect: select(condition, a, b): the condition must be a mask or a traced bool, and one of a and b a tile or a traced
// scalar scalar rows: N3
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](in<float, 1> x, out<float, 1> y) {
  auto g = grid_over(y, shape<64>);
  store(y, shape<64>, select(load(x, shape<64>, g[0]) > 0, 0.F, 1.F), g[0]);
});

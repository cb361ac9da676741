// expect: select: the condition must be a mask (a tile of bool) or a traced bool
// rows: F45
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](in<int, 1> x, out<int, 1> y) {
  auto g = grid_over(y, shape<64>);
  tile v = load(x, shape<64>, g[0]);
  store(y, shape<64>, select(v, v, 0), g[0]);
});

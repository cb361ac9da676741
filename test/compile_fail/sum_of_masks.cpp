// expect: the operator must be defined for this element
// rows: F45
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](in<bool, 1> x, out<bool, 1> y) {
  auto g = grid_over(y, shape<64>);
  tile m = load(x, shape<64>, g[0]);
  store(y, shape<64>, m + m, g[0]);
});

// expect: the operands must be numbers, and a bool is not a number: masks go into select
// rows: F45
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](in<int, 1> x, out<int, 1> y) {
  auto g = grid_over(y, shape<64>);
  store(y, shape<64>, load(x, shape<64>, g[0]) + true, g[0]);
});

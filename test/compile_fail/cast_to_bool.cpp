// expect: cast: the new element must not be bool; compare, for instance x != 0
// rows: F45
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](in<int, 1> x, out<bool, 1> y) {
  auto g = grid_over(y, shape<64>);
  store(y, shape<64>, cast<bool>(load(x, shape<64>, g[0])), g[0]);
});

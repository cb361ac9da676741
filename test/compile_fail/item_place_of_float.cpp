// expect: item: a place must be an integer or an index expression for each axis, and counts elements
// rows: L1
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](in<float, 1> x, out<float, 1> y) {
  auto g = grid_over(y, shape<64>);
  tile a = load(x, shape<64>, g[0]);
  store(y, shape<1>, item(a, 0.5F), g[0]);
});

// expect: record: the value must be an integer or an index expression
// rows: P1
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](in<float, 1> x, out<float, 1> y) {
  auto g = grid_over(y, shape<64>);
  record(start, "tile", x);
  store(y, shape<64>, load(x, shape<64>, g[0]), g[0]);
  record(stop, "tile");
});

// expect: store: an in parameter must not be written; declare it out or inout
// rows: N3
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](in<float, 1> x, out<float, 1> y) {
  auto g = grid_over(y, shape<64>);
  store(x, shape<64>, 0, g[0]);
});

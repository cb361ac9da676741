// expect: load: an index must be an integer, an index expression or elem(k); pad(x) comes last; gather takes
// rows: N3
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](in<float, 1> x, in<bool, 1> m, out<float, 1> y) {
  auto g = grid_over(y, shape<64>);
  tile valid = load(m, shape<64>, g[0]);
  store(y, shape<64>, load(x, shape<64>, g[0], mask(valid)), g[0]);
});

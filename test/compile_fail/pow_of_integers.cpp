// expect: the operator must be defined for this element
// rows: N3
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](in<float, 2> x, out<float, 2> y) {
  auto g = grid_over(y, shape<8, 64>);
  tile v = load(x, shape<8, 64>, g[0], g[1]);
  store(y, shape<8, 64>, cast<float>(pow(cast<int>(v), 2)), g[0], g[1]);
});

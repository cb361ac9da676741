// expect: slice: the tensor must have this axis
// rows: N3
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](in<float, 1> x, out<float, 1> y) {
  auto g = grid_over(y, shape<64>);
  auto part = slice(x, axis<1>, 0, 64);
  store(y, shape<64>, load(part, shape<64>, g[0]), g[0]);
});

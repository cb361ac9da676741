// expect: load: the shape must not have more axes than the tensor
// rows: N3
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](in<float, 1> x, out<float, 2> y) {
  auto g = grid_over(y, shape<8, 64>);
  store(y, shape<8, 64>, load(x, shape<8, 64>, g[1]), g[0], g[1]);
});

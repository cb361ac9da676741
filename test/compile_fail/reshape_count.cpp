// expect: reshape: both shapes must have the same number of elements
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](in<float, 2> x, out<float, 2> y) {
  auto g = grid_over(y, shape<8, 32>);
  store(y, shape<8, 32>, reshape(load(x, shape<8, 16>, g[0], g[1]), shape<8, 32>), g[0], g[1]);
});

// expect: dot: the elements must be float for the precisions tf32 and tf32x3; leave them out for other elements
// rows: N3
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](in<f16, 2> a, in<f16, 2> b, out<float, 2> y) {
  auto g = grid_over(y, shape<64, 64>);
  store(y, shape<64, 64>, dot(load(a, shape<64, 64>, g[0], 0), load(b, shape<64, 64>, 0, g[1]), tf32), g[0], g[1]);
});

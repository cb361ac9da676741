// expect: dot: the first operand is M x K and the second K x N, so the two K must be equal
// rows: N3
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](in<f16, 2> a, in<f16, 2> b, out<float, 2> y) {
  auto g = grid_over(y, shape<64, 64>);
  store(y, shape<64, 64>, dot(load(a, shape<64, 32>, g[0], 0), load(b, shape<64, 64>, 0, g[1])), g[0], g[1]);
});

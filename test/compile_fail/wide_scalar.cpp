// expect: the tile's element must hold all values of a run-time scalar, which is not rounded implicitly
// rows: N3
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](in<bf16, 1> x, out<bf16, 1> y, arg<float> factor) {
  auto g = grid_over(y, shape<64>);
  store(y, shape<64>, load(x, shape<64>, g[0]) * factor, g[0]);
});

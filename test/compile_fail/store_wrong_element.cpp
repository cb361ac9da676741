// expect: store: the tile's element must be the tensor's: use cast<T>(...)
// rows: N3
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](in<float, 1> x, out<bf16, 1> y) {
  auto g = grid_over(y, shape<64>);
  store(y, shape<64>, load(x, shape<64>, g[0]), g[0]);
});

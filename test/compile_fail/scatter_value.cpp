// expect: scatter, atomics: the tile's element must be the tensor's: use cast<T>(...)
// rows: N3
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](in<float, 1> x, in<int, 1> to, out<bf16, 1> y) {
  auto g = grid_over(x, shape<64>);
  tile at = load(to, shape<64>, g[0]);
  scatter(y, load(x, shape<64>, g[0]), at);
});

// expect: gather, scatter, atomics: one index must be given per axis of the tensor
// rows: N3
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](in<float, 2> x, in<int, 1> rows, out<float, 1> y) {
  auto g = grid_over(y, shape<64>);
  store(y, shape<64>, gather(x, load(rows, shape<64>, g[0])), g[0]);
});

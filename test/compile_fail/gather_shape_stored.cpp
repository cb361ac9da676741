// expect: gather, scatter, atomics: the tiles of indices and the mask must broadcast to one shape
// rows: N3
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](in<float, 2> x, in<int, 1> rows, out<float, 2> y) {
  auto g = grid_over(y, shape<16, 64>);
  tile row = load(rows, shape<16>, g[0]);
  store(y, shape<16, 64>, gather(x, row, iota(shape<64>, axis<0>)), g[0], g[1]);
});

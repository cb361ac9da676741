// expect: ranks: the starts must be a tile of int with one axis
// rows: N3
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](in<int, 1> x, in<float, 1> starts, out<int, 1> y) {
  auto g = grid_over(y, shape<64>);
  store(y, shape<64>, ranks(load(x, shape<64>, g[0]), load(starts, shape<16>, 0)), g[0]);
});

// expect: mask: the mask must be a tile of bool, for instance a comparison
// rows: N3
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](in<float, 1> x, in<int, 1> from, out<float, 1> y) {
  auto g = grid_over(y, shape<64>);
  tile at = load(from, shape<64>, g[0]);
  store(y, shape<64>, gather(x, at, mask(at)), g[0]);
});

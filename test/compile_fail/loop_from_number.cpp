// expect: loop: the body returns a tile, so the initial value must be a tile: begin with full(shape<...>, x)
// rows: N3
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](in<float, 1> x, out<float, 1> y) {
  auto g = grid_over(y, shape<64>);
  tile sum = loop(4, 0.F, [&](auto i, auto acc) { return acc + load(x, shape<64>, i); });
  store(y, shape<64>, sum, g[0]);
});

// expect: deinterleave: the tile must have this axis, with an even extent, and at most 7 axes
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](in<float, 2> x, out<float, 2> y) {
  auto g = grid_over(y, shape<8, 32>);
  auto [a, b] = deinterleave(load(x, shape<8, 31>, g[0], g[1]));
  store(y, shape<8, 31>, a, g[0], g[1]);
});

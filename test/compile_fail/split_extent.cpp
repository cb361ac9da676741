// expect: split: the axis must have extent 2; slice takes other parts
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](in<float, 2> x, out<float, 2> y) {
  auto g = grid_over(y, shape<8, 32>);
  auto [a, b] = split(load(x, shape<8, 32>, g[0], g[1]), axis<1>);
  store(y, shape<8, 32>, a, g[0], g[1]);
});

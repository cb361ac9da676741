// expect: loop: the count must be an integer, an index expression or range(lower, upper, step)
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](in<float, 1> x, out<float, 1> y) {
  auto g = grid_over(y, shape<64>);
  tile a = load(x, shape<64>, g[0]);
  tile s = loop(a, a, [](auto, auto t) { return t; });
  store(y, shape<64>, s, g[0]);
});

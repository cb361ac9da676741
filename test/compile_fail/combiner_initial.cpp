// expect: the initial value must have one part for each tile
// rows: N3
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](in<float, 2> x, out<float, 2> y) {
  auto g = grid_over(y, shape<8, 64>);
  tile v = load(x, shape<8, 64>, g[0], g[1]);
  auto [a, b] = reduce(carry(v, v), axis<1>, 0, [](auto p, auto q, auto r, auto s) { return carry(p + r, q + s); });
  store(y, shape<8, 1>, a + b, g[0], 0);
});

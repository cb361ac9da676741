// expect: a combiner must work along axes that the tiles have
// rows: N3
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](in<float, 2> x, out<float, 2> y) {
  auto g = grid_over(y, shape<8, 64>);
  tile v = load(x, shape<8, 64>, g[0], g[1]);
  store(y, shape<8, 1>, reduce(v, axis<2>, 0, [](auto a, auto b) { return a + b; }), g[0], 0);
});

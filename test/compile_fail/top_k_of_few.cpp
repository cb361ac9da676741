// expect: top_k: at least 1 and at most all elements along the axis must be asked for
// rows: N3
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](in<float, 2> x, out<float, 2> y) {
  auto g = grid_over(y, shape<8, 64>);
  tile v = load(x, shape<8, 64>, g[0], g[1]);
  auto [a, b] = top_k<65>(v, axis<1>);
  store(y, shape<8, 65>, a, g[0], g[1]);
});

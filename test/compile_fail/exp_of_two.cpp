// expect: the argument of exp must be one value: exp(x)
// rows: N3
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](in<float, 1> x, out<float, 1> y) {
  auto g = grid_over(y, shape<64>);
  tile a = load(x, shape<64>, g[0]);
  store(y, shape<64>, exp(a, a), g[0]);
});

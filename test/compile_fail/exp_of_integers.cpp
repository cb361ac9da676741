// expect: the elements of this function must be floating
// rows: N3
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](in<int, 1> x, out<int, 1> y) {
  auto g = grid_over(y, shape<64>);
  store(y, shape<64>, exp(load(x, shape<64>, g[0])), g[0]);
});

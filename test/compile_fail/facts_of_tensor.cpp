// expect: a fact in a parameter's type must be multiple_of<n>, equals<n>, fixed<n> or, of a tensor, along<axis, one of
// rows: N3 N10
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](in<float, 1, int> x, out<float, 1> y) {
  auto g = grid_over(y, shape<64>);
  store(y, shape<64>, load(x, shape<64>, g[0]), g[0]);
});

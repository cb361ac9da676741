// expect: the arguments of a reduction must be a tile and the axes that it reduces
// rows: N3
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](out<float, 1> y, arg<float> n) {
  auto g = grid_over(y, shape<64>);
  store(y, shape<1>, sum(n), g[0]);
});

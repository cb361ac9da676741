// expect: the tile's element must hold all values of a run-time scalar, which is not rounded implicitly
// rows: N3
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](out<float, 1> y, arg<double> value) {
  auto g = grid_over(y, shape<64>);
  store(y, shape<64>, value, g[0]);
});

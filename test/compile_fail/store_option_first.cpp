// expect: store: one index must be given per axis of the tensor
// rows: N3
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](out<float, 1> y) {
  auto g = grid_over(y, shape<64>);
  store(y, shape<64>, 1.F, may_be_outside, g[0]);
});

// expect: device_assert: the condition must be a comparison of scalars or tiles, or a bool
// rows: N3 F38
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](out<float, 1> y) {
  auto g = grid_over(y, shape<64>);
  device_assert(1, "holds");
  store(y, shape<64>, 0, g[0]);
});

// expect: a traced value must not be tested for true or false while the kernel is traced
// rows: N3
#include <tegula/dsl/dsl.hpp>

#include <algorithm>
#include <cmath>

using namespace tegula;

constexpr auto k = kernel("k", [](out<float, 1> y) {
  auto g = grid_over(y, shape<64>);
  store(y, shape<64>, 1.F, std::min(g[0], g[0]));
});

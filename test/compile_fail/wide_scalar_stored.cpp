// expect: a run-time scalar meets an element that does not hold its values, and nothing is rounded silently
// rows: N3
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](out<float, 1> y, arg<double> value) {
  auto g = grid_over(y, shape<64>);
  store(y, shape<64>, value, g[0]);
});

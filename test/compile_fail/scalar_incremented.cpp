// expect: a traced scalar must not be assigned to: bind the result to another name
// rows: N3
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](out<float, 1> y) {
  auto g = grid_over(y, shape<64>);
  auto i = g[0];
  ++i;
  store(y, shape<64>, 1.F, i);
});

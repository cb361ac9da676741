// expect: cast<T>(x): x must be a tile or a traced scalar; a number is converted by static_cast<T>(x)
// rows: N3
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](out<float, 1> y) {
  auto g = grid_over(y, shape<64>);
  store(y, shape<64>, cast<float>(3), g[0]);
});

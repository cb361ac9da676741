// expect: load: within<min, end, multiple> must name integers of the element, min less than end, multiple positive
// rows: N3
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](in<int, 1> x, out<int, 1> y) {
  auto g = grid_over(y, shape<64>);
  store(y, shape<64>, load(x, g[0], within<8, 8>), g[0]);
});

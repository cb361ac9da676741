// expect: loop: the body must take the index and one argument for each carried value
// rows: N3
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](in<float, 1> x, out<float, 1> y) {
  auto g = grid_over(y, shape<64>);
  tile s = loop(4, zeros<float>(shape<64>), [&](auto acc) { return acc; });
  store(y, shape<64>, s, g[0]);
});

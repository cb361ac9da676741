// expect: elem(k) counts elements and a plain index counts tiles, so the two must not mix
// rows: N3 B27
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](in<float, 1> x, out<float, 1> y) {
  auto g = grid_over(y, shape<64>);
  store(y, shape<64>, load(x, shape<64>, elem(8) + 1), g[0]);
});

// expect: sort: the tile must be of numbers, and a bool is not a number
// rows: N3
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](in<float, 2> x, out<float, 2> y) {
  auto g = grid_over(y, shape<8, 64>);
  tile v = load(x, shape<8, 64>, g[0], g[1]);
  store(y, shape<8, 64>, cast<float>(sort(v > 0, axis<1>)), g[0], g[1]);
});

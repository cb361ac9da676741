// expect: a reduction must be of numbers, and a bool is not a number: cast the mask first, or use any or all
// rows: N3
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](in<bool, 1> x, out<float, 1> y) {
  auto g = grid_over(y, shape<64>);
  tile v = load(x, shape<64>, g[0]);
  store(y, shape<64>, cast<float>(argmax(v, axis<0>)), g[0]);
});

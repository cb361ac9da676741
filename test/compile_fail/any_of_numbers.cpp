// expect: the operand of any and all must be a mask (a tile of bool): compare first, for instance x != 0
// rows: N3
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](in<float, 1> x, out<float, 1> y) {
  auto g = grid_over(y, shape<64>);
  tile v = load(x, shape<64>, g[0]);
  store(y, shape<64>, cast<float>(any(v, axis<0>)), g[0]);
});

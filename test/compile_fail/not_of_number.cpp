// expect: the operand of ! must be a mask or a traced bool; compare numbers with == 0
// rows: F45
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](in<float, 1> x, out<float, 1> y) {
  auto g = grid_over(y, shape<64>);
  tile v = load(x, shape<64>, g[0]);
  store(y, shape<64>, select(!v, v, 0), g[0]);
});

// expect: slice: begin and end must be integers, or scalars of i32 or i64, that count elements
// rows: N3
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](in<float, 1> x, out<float, 1> y) {
  auto g = grid_over(y, shape<64>);
  auto part = slice(x, axis<0>, 0.5F, 64);
  store(y, shape<64>, load(part, shape<64>, g[0]), g[0]);
});

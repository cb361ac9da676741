// expect: while_: the condition must return a comparison of scalars; any(x), all(x) and item(x) make one of a mask
// rows: L1
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](in<float, 1> x, out<float, 1> y) {
  auto g = grid_over(y, shape<64>);
  tile a = load(x, shape<64>, g[0]);
  tile s = while_(
      a, [](auto t) { return t > 1; }, [](auto t) { return t * 0.5F; });
  store(y, shape<64>, s, g[0]);
});

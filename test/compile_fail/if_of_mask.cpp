// expect: if_: the condition must be a comparison of index expressions or arguments
// rows: N3
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](in<float, 1> x, out<float, 1> y) {
  auto g = grid_over(y, shape<64>);
  tile v = load(x, shape<64>, g[0]);
  tile s = if_(
      v > 0, [&] { return v + 1; }, [&] { return v * 2; });
  store(y, shape<64>, s, g[0]);
});

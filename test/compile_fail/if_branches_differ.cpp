// expect: if_: both branches must return values of the same elements and shapes, or nothing
// rows: N3
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](in<float, 1> x, out<float, 1> y) {
  auto g = grid_over(y, shape<64>);
  tile v = load(x, shape<64>, g[0]);
  tile s = if_(
      g[0] == 0, [&] { return v + 1; }, [&] { return cast<int>(v); });
  store(y, shape<64>, s, g[0]);
});

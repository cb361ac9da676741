// expect: loop: two bounds must be joined by range(lower, upper)
// rows: N3
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](in<float, 2> x, out<float, 2> y) {
  auto g = grid_over(y, shape<1, 64>);
  auto [a, b] = loop(g[0], x.extent(0), carry(zeros<float>(shape<1, 64>), zeros<float>(shape<1, 64>)),
                     [&](auto i, auto s, auto t) { return carry(s + load(x, shape<1, 64>, i, g[1]), t); });
  store(y, shape<1, 64>, a + b, g[0], g[1]);
});

// expect: the arguments of std::min must be numbers; of tiles write min(a, b)
// rows: N3
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](in<float, 1> x, out<float, 1> y) {
  auto g = grid_over(y, shape<64>);
  store(y, shape<64>, std::min(1.F, load(x, shape<64>, g[0])), g[0]);
});

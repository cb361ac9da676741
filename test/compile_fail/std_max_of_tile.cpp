// expect: the arguments of std::max must be numbers; of tiles write max(a, b)
// rows: N3
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](in<float, 1> x, out<float, 1> y) {
  auto g = grid_over(y, shape<64>);
  tile a = load(x, shape<64>, g[0]);
  store(y, shape<64>, std::max(a, 0.F), g[0]);
});

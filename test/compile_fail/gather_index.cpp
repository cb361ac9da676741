// expect: an index must be a tile of int or std::int64_t, an integer or an index expression
// rows: N3
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](in<float, 1> x, out<float, 1> y) {
  auto g = grid_over(y, shape<64>);
  store(y, shape<64>, gather(x, load(x, shape<64>, g[0])), g[0]);
});

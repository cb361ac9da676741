// expect: load: within<min, end> must be of elements that are indices, int or std::int64_t
// rows: N3
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](in<float, 1> x, out<float, 1> y) {
  auto g = grid_over(y, shape<64>);
  store(y, shape<64>, full(shape<64>, load(x, g[0], within<0, 8>)), g[0]);
});

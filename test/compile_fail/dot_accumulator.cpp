// expect: dot: the accumulator's element must be float
// rows: N3
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](in<f16, 2> a, in<f16, 2> b, out<f16, 2> y) {
  auto g = grid_over(y, shape<64, 64>);
  store(y, shape<64, 64>,
        dot(load(a, shape<64, 64>, g[0], 0), load(b, shape<64, 64>, 0, g[1]), zeros<f16>(shape<64, 64>)), g[0], g[1]);
});

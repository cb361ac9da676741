// expect: dot: the accumulator's element must be float (double for double operands, std::int32_t for integers)
// rows: N3
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](in<std::int8_t, 2> a, in<std::int8_t, 2> b, out<float, 2> y) {
  auto g = grid_over(y, shape<64, 64>);
  store(y, shape<64, 64>,
        dot(load(a, shape<64, 64>, g[0], 0), load(b, shape<64, 64>, 0, g[1]), zeros<float>(shape<64, 64>)), g[0], g[1]);
});

// expect: loop: the body must return as many values as the loop carries
// rows: N3
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](in<float, 1> x, out<float, 1> y) {
  auto g = grid_over(y, shape<64>);
  auto [a, b] =
      loop(4, carry(zeros<float>(shape<64>), zeros<float>(shape<64>)), [&](auto, auto s, auto t) { return s + t; });
  store(y, shape<64>, a + b, g[0]);
});

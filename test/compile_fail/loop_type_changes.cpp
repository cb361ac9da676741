// expect: loop: the body must return the element and shape that the loop carries
// rows: N3
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](in<float, 1> x, out<float, 1> y) {
  auto g = grid_over(y, shape<64>);
  tile s = loop(4, zeros<float>(shape<64>), [&](auto, auto acc) { return cast<bf16>(acc); });
  store(y, shape<64>, s, g[0]);
});

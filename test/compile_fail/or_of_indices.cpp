// expect: || must know its left side to skip its right side, and no traced value is known while the kernel is traced
// rows: N3
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](in<float, 1> x, out<float, 1> y) {
  auto g = grid_over(y, shape<64>);
  if_(g[0] == 0 || g[0] == 1, [&] { store(y, shape<64>, 0, g[0]); });
});

// expect: || cannot skip its right side, because its left side is not known while the kernel is traced: use |
// rows: N3
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](in<float, 1> x, out<float, 1> y) {
  auto g = grid_over(y, shape<64>);
  if_(g[0] == 0 || g[0] == 1, [&] { store(y, shape<64>, 0, g[0]); });
});

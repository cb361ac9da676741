// expect: a traced value must not be tested for true or false while the kernel is traced: use select, &, |, if_ or loop
// rows: N3
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](in<float, 1> x, out<float, 1> y) {
  auto g = grid_over(y, shape<64>);
  if (g[0] == 0) store(y, shape<64>, 0, g[0]);
});

// expect: the operands must have the same element, and are not converted implicitly: use cast<T>(...)
// rows: N3
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](in<bf16, 1> x, out<float, 1> y) {
  auto g = grid_over(y, shape<64>);
  store(y, shape<64>, load(x, shape<64>, g[0]) + zeros<float>(shape<64>), g[0]);
});

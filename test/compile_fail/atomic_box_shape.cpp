// expect: atomics: one index must be given per axis of the tensor
// rows: N3
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](in<float, 2> x, inout<float, 2> sums) {
  auto g = grid_over(x, shape<16, 16>);
  atomic_add(sums, shape<16, 16>, load(x, shape<16, 16>, g[0], g[1]), g[0]);
});

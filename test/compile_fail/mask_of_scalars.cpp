// expect: gather, scatter, atomics: with a mask, at least one index must be a tile; take full(shape<...>, i) as an
// index rows: N3
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](in<int, 1> x, inout<int, 1> count) {
  auto g = grid_over(x, shape<64>);
  atomic_add(count, 1, 0, mask(load(x, shape<64>, g[0]) > 5));
});

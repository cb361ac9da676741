// expect: atomics: the tensor is read and written, so it must be inout
// rows: N3
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](in<int, 1> classes, out<int, 1> counts) {
  auto g = grid_over(classes, shape<64>);
  atomic_add(counts, 1, load(classes, shape<64>, g[0]));
});

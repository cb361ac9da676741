// expect: atomics: sums, min and max must be of f16, bf16 or numbers of 32 and 64 bits, bit operations of integers of
// rows: N3
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](in<int, 1> classes, inout<float, 1> counts) {
  auto g = grid_over(classes, shape<64>);
  atomic_xor(counts, 1, load(classes, shape<64>, g[0]));
});

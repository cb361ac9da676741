// expect: an operator that assigns to a tile must be +=, -=, *= or /=
// rows: N3
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](out<float, 1> y) {
  auto g = grid_over(y, shape<64>);
  tile a = iota<int>(shape<64>, axis<0>);
  a %= 3;
  store(y, shape<64>, cast<float>(a), g[0]);
});

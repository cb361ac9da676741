// expect: stages<n, d>: the prefetch distance d must be at least 0 and less than n
// rows: N3 B19
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](in<float, 1> x, inout<float, 1> y) {
  auto g = grid_over(y, shape<64>);
  tile sum = loop(
      4, zeros<float>(shape<64>), [&](auto i, auto s) { return s + load(x, shape<64>, i); }, stages<4, 4>);
  store(y, shape<64>, sum, g[0]);
});

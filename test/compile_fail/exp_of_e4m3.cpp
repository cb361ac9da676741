// expect: elements of 8 bits and integers of 16 are loaded, stored, selected and converted, but must not be computed
// with but not computed with: cast first rows: N3
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](in<e4m3, 1> x, out<e4m3, 1> y) {
  auto g = grid_over(y, shape<64>);
  tile v = load(x, shape<64>, g[0]);
  store(y, shape<64>, exp(v), g[0]);
});

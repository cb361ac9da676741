// expect: record: a name must have 1 to 64 characters
// rows: P1
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](out<float, 1> y) {
  auto g = grid_over(y, shape<64>);
  region r("a name that says far too much about the part of the kernel that it measures");
  store(y, shape<64>, zeros<float>(shape<64>), g[0]);
});

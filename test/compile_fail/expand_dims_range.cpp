// expect: expand_dims: an axis must be one of the result's
// rows: F24
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](in<float, 1> x, out<float, 1> y) {
  auto g = grid_over(y, shape<64>);
  tile v = expand_dims(load(x, shape<64>, g[0]), axis<3>);
  store(y, shape<64>, 0, g[0]);
});

// expect: take_at, put_at: the places must be a tile of int: use cast<int>
// rows: N3
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](in<float, 1> x, out<float, 1> y) {
  auto g = grid_over(y, shape<64>);
  store(y, shape<64>, take_at(load(x, shape<64>, g[0]), iota(shape<64>, axis<0>)), g[0]);
});

// expect: kernel: along<axis, fact> must name an axis of the tensor
// rows: N3 N10
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](in<float, 1, along<1, fixed<128>>> x, out<float, 1> y) {
  auto g = grid_over(y, shape<64>);
  store(y, shape<64>, load(x, shape<64>, g[0]), g[0]);
});

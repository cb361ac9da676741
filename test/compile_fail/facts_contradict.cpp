// expect: kernel: the facts in a parameter's type must not contradict one another: no number has all of them
// rows: N3 N10
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](out<float, 1> y, arg<int, multiple_of<16>, fixed<24>> n) {
  auto g = grid_over(y, shape<64>);
  store(y, shape<64>, full(shape<64>, cast<float>(n)), g[0]);
});

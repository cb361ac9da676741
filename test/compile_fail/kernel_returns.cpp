// expect: kernel: the lambda must return nothing; results go through store
// rows: N3
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto body = [](in<float, 1> x, out<float, 1> y) {
  auto g = grid_over(y, shape<64>);
  return load(x, shape<64>, g[0]);
};
constexpr auto k = kernel("k", body);

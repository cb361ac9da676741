// expect: kernel: facts are stated of integers: an arg with facts must be an int or a std::int64_t
// rows: N3 N10
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](out<float, 1> y, arg<float, equals<1>> n) {
  auto g = grid_over(y, shape<64>);
  store(y, shape<64>, full(shape<64>, 1.0f) * n, g[0]);
});

// expect: elements of 8 bits and integers of 16 are loaded, stored, selected and converted, but must not be computed
// with rows: N3
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](in<std::int8_t, 1> x, out<float, 1> y) {
  auto g = grid_over(y, shape<64>);
  tile v = load(x, shape<64>, g[0]);
  store(y, shape<64>, cast<float>(cumsum(v, axis<0>)), g[0]);
});

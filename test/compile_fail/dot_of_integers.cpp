// expect: dot: the elements of a product must be std::int8_t, std::uint8_t, e4m3, e5m2, f16, bf16, float and double
// rows: N3
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](in<int, 2> a, in<int, 2> b, out<int, 2> y) {
  auto g = grid_over(y, shape<64, 64>);
  store(y, shape<64, 64>, dot(load(a, shape<64, 64>, g[0], 0), load(b, shape<64, 64>, 0, g[1])), g[0], g[1]);
});

// expect: unpack: the tile must be of std::int8_t or std::uint8_t, with two elements in each byte
// rows: N3
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](in<int, 1> x, out<std::int8_t, 1> y) {
  auto g = grid_over(y, shape<128>);
  store(y, shape<128>, unpack<i4>(load(x, shape<64>, g[0])), g[0]);
});

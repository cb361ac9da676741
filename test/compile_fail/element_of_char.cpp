// expect: a tensor's element must be bool, std::int8_t, uint8_t, int16_t, uint16_t, int32_t, uint32_t, int64_t,
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](in<char, 1> x, out<char, 1> y) {
  auto g = grid_over(y, shape<64>);
  store(y, shape<64>, load(x, shape<64>, g[0]), g[0]);
});

// expect: function(..., noinline): the body must return nothing, a tile, a struct or tuple of tiles, or carry(...)
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto f = function([](auto x) { return x.handle().value; }, noinline);

constexpr auto k = kernel("k", [](in<float, 1> x, out<float, 1> y) {
  auto g = grid_over(y, shape<64>);
  f(load(x, shape<64>, g[0]));
});

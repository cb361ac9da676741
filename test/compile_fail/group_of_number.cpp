// expect: while_: a carried struct or tuple must have 1 to 32 members, which are tiles, scalars and such structs
// rows: N3
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](in<float, 1> x, out<float, 1> y) {
  auto g = grid_over(y, shape<8>);
  tile v = load(x, shape<8>, g[0]);
  auto end = while_(
      std::make_tuple(v, 3), [](auto const& state) { return any(std::get<0>(state) < 9); },
      [](auto const& state) { return state; });
  store(y, shape<8>, std::get<0>(end), g[0]);
});

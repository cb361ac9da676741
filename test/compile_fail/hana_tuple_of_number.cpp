// expect: loop: a carried struct or tuple must have 1 to 32 members, which are tiles, scalars and such structs
// rows: L10 N3
#include <tegula/dsl/dsl.hpp>
#include <tegula/dsl/hana.hpp>

using namespace tegula;
namespace hana = boost::hana;

constexpr auto k = kernel("k", [](in<float, 1> x, out<float, 1> y) {
  auto g = grid_over(y, shape<8>);
  tile v = load(x, shape<8>, g[0]);
  auto end = loop(4, hana::make_tuple(v, 3), [&](auto, auto const& state) { return state; });
  store(y, shape<8>, hana::at_c<0>(end), g[0]);
});

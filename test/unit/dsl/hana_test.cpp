// Tests integral constants of other libraries in tiles and index expressions; Hana's own operators never win.
#include <boost/hana/bool.hpp>
#include <boost/hana/comparing.hpp>
#include <boost/hana/integral_constant.hpp>

#include "support/catch.hpp"
#include "tegula/dsl/dsl.hpp"

using namespace tegula;
namespace hana = boost::hana;

TEST_CASE("Hana's constants act as numbers on tiles and indices") {
  auto const with_constants = kernel("k", [](in<float, 1> x, in<bool, 1> m, out<float, 1> y) {
    auto g = grid_over(y, shape<64>);
    tile v = load(x, shape<64>, hana::int_c<1> + g[0] * hana::int_c<2>);
    tile w = load(x, shape<64>, g[0], pad(hana::int_c<5>)) * hana::int_c<3> - hana::int_c<7> / v;
    tile mask = load(m, shape<64>, g[0]) & hana::true_c;
    store(y, shape<64>,
          select(mask & (v < hana::int_c<2>), max(w, hana::int_c<0>), v + std::integral_constant<int, 9>()),
          elem(hana::int_c<64> * g[0]));
  });
  auto const with_numbers = kernel("k", [](in<float, 1> x, in<bool, 1> m, out<float, 1> y) {
    auto g = grid_over(y, shape<64>);
    tile v = load(x, shape<64>, 1 + g[0] * 2);
    tile w = load(x, shape<64>, g[0], pad(5)) * 3 - 7 / v;
    tile mask = load(m, shape<64>, g[0]) & true;
    store(y, shape<64>, select(mask & (v < 2), max(w, 0), v + 9), elem(64 * g[0]));
  });
  CHECK(with_constants.trace().text() == with_numbers.trace().text());
}

// Tests integral constants of other libraries in tiles and index expressions; Hana's own operators never win. Tests
// that structs and tuples of Hana record what those of C++ do.
#include <boost/hana/bool.hpp>
#include <boost/hana/comparing.hpp>
#include <boost/hana/integral_constant.hpp>

#include "support/catch.hpp"
#include "tegula/dsl/dsl.hpp"
#include "tegula/dsl/hana.hpp"

namespace {

using namespace tegula;
namespace hana = boost::hana;
using Row = tile<float, Shape<64>>;

struct Scaled {
  in<float, 1> x;
  arg<float> factor;
};
struct Pair {
  Row first, second;
};
class HanaScaled {
 public:
  HanaScaled(in<float, 1> tensor, arg<float> number) : x(tensor), factor(number) {}
  in<float, 1> x;
  arg<float> factor;
};
class HanaPair {
 public:
  HanaPair(Row a, Row b) : first(a), second(b) {}
  Row first, second;
};
struct Few {
  BOOST_HANA_DEFINE_STRUCT(Few, (Row, first), (Row, second));
};
struct Reversed {
  Row first, second;
};

}  // namespace

BOOST_HANA_ADAPT_STRUCT(HanaScaled, x, factor);
BOOST_HANA_ADAPT_STRUCT(HanaPair, first, second);
BOOST_HANA_ADAPT_STRUCT(Reversed, second, first);

namespace {

/// Records a kernel that carries a pair in a tuple, passes it to a function and returns it from a branch.
template <class Parameters, class X, class Tuple, class Part>
std::string text_of(Part const& part) {
  auto const scale = function(
      "scale",
      [](X const& pair, scalar<float> factor) {
        return X{pair.first * factor, pair.second + 1};
      },
      noinline);
  return kernel("k",
                [&](Parameters p, out<float, 1> y) {
                  auto g = grid_over(y, shape<64>);
                  tile v = load(p.x, shape<64>, g[0]);
                  Tuple end = loop(4, Tuple{X{v, v}, g[0]}, [&](auto, Tuple const& all) {
                    return Tuple{scale(part(all, std::integral_constant<int, 0>()), p.factor), g[0] + 1};
                  });
                  Tuple either = if_(
                      p.x.extent(0) > 64, [&] { return end; },
                      [&] {
                        return Tuple{X{v, v}, g[0]};
                      });
                  store(y, shape<64>, part(either, std::integral_constant<int, 0>()).first,
                        part(either, std::integral_constant<int, 1>()));
                })
      .trace()
      .text();
}

}  // namespace

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

TEST_CASE("structs and tuples of Hana record what those of C++ do", "[L10]") {
  auto const of_hana = [](auto const& tuple, auto at) -> auto const& { return hana::at_c<decltype(at)::value>(tuple); };
  auto const of_std = [](auto const& tuple, auto at) -> auto const& { return std::get<decltype(at)::value>(tuple); };
  using Index = scalar<std::int64_t>;
  std::string const expected = text_of<Scaled, Pair, std::tuple<Pair, Index>>(of_std);
  CHECK_THAT(expected, test::ContainsSubstring("call"));
  CHECK(text_of<HanaScaled, HanaPair, hana::tuple<HanaPair, Index>>(of_hana) == expected);
  CHECK(text_of<Scaled, Few, hana::tuple<Few, Index>>(of_hana) == expected);
  // An aggregate of few members keeps the order of its declaration, whatever Hana lists.
  CHECK(text_of<Scaled, Reversed, hana::tuple<Reversed, Index>>(of_hana) == expected);
}

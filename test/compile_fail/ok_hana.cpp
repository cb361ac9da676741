// Must compile without a warning: tuples and structs of Boost.Hana as parameters and groups, and as values of C++.
// rows: L10 F44
#include <tegula/tegula.hpp>
#include <tegula/dsl/hana.hpp>

using namespace tegula;
namespace hana = boost::hana;

struct Scaled {
  BOOST_HANA_DEFINE_STRUCT(Scaled, (in<float, 1>, x), (arg<float>, factor));
};
class Pair {
 public:
  Pair(tile<float, Shape<64>> one, tile<float, Shape<64>> other) : a(one), b(other) {}
  tile<float, Shape<64>> a, b;
};
BOOST_HANA_ADAPT_STRUCT(Pair, a, b);
class Setting {  // is known to the C++ program, and passed on as it is
 public:
  explicit Setting(int number) : count(number) {}
  int count;
};
BOOST_HANA_ADAPT_STRUCT(Setting, count);

constexpr auto twice = function(
    [](Pair const& p, Setting const& setting, hana::tuple<int> const&) { return Pair(p.a * setting.count, p.b * 2); });

constexpr auto k = kernel("k", [](Scaled p, hana::tuple<hana::tuple<out<float, 1>>> y) {
  auto const& to = hana::at_c<0>(hana::at_c<0>(y));
  auto g = grid_over(to, shape<64>);
  tile v = load(p.x, shape<64>, g[0]) * p.factor;
  auto [pair, count] = loop(4, carry(Pair(v, v), 0), [&](auto, Pair const& all, auto n) {
    return carry(twice(all, Setting(3), hana::make_tuple(1)), n + 1);
  });
  auto nested = hana::make_tuple(hana::make_tuple(pair), g[0]);
  auto end = if_(
      count > 3, [&] { return nested; }, [&] { return nested; });
  store(to, shape<64>, hana::at_c<0>(hana::at_c<0>(end)).a, g[0]);
});

void run(host_stream const& stream, buffer<float, 1> const& x, buffer<float, 1>& y) { launch(stream, k, x, 2.F, y); }

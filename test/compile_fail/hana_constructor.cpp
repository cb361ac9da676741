// expect: kernel: a struct of Boost.Hana must be made from the members that it lists
// rows: L10
#include <tegula/dsl/dsl.hpp>
#include <tegula/dsl/hana.hpp>

using namespace tegula;

class Scaled {
 public:
  explicit Scaled(int count);
  in<float, 1> x;
  arg<float> factor;
};
BOOST_HANA_ADAPT_STRUCT(Scaled, x, factor);

constexpr auto k = kernel("k", [](Scaled p, out<float, 1> y) {
  auto g = grid_over(y, shape<64>);
  store(y, shape<64>, load(p.x, shape<64>, g[0]) * p.factor, g[0]);
});

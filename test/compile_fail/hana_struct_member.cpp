// expect: kernel: every parameter must be an in, out, inout or arg
// rows: L10
#include <tegula/dsl/dsl.hpp>
#include <tegula/dsl/hana.hpp>

using namespace tegula;

class Scaled {
 public:
  Scaled(in<float, 1> tensor, int number) : x(tensor), factor(number) {}
  in<float, 1> x;
  int factor;
};
BOOST_HANA_ADAPT_STRUCT(Scaled, x, factor);

constexpr auto k = kernel("k", [](Scaled p, out<float, 1> y) {
  auto g = grid_over(y, shape<64>);
  store(y, shape<64>, load(p.x, shape<64>, g[0]), g[0]);
});

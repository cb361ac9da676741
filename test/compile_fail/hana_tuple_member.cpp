// expect: kernel: every parameter must be an in, out, inout or arg
// rows: L10
#include <tegula/dsl/dsl.hpp>
#include <tegula/dsl/hana.hpp>

using namespace tegula;
namespace hana = boost::hana;

constexpr auto k = kernel("k", [](hana::tuple<in<float, 1>, hana::tuple<arg<float>, double>> p, out<float, 1> y) {
  auto g = grid_over(y, shape<64>);
  store(y, shape<64>, load(hana::at_c<0>(p), shape<64>, g[0]), g[0]);
});

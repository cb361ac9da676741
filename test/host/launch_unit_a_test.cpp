// One of two translation units with different lambdas of the same name in the same place.
#include "launch_support.hpp"
#include "tegula/tegula.hpp"

namespace tegula::test {
namespace {

inline constexpr auto same_name = kernel("same_name", [](in<float, 1> x, out<float, 1> y) {
  auto g = grid_over(y, shape<64>);
  tile v = load(x, shape<64>, g[0]);
  store(y, shape<64>, 2.0f * v, g[0]);
});

}  // namespace

void run_unit_a(stream const& order, std::vector<float> const& x, std::vector<float>& y) {
  launch(order, same_name, x, y);
}

}  // namespace tegula::test

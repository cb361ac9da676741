// Tests the measured share of a launch's limit on a device.
#include <cstdlib>
#include <string>

#include "support/catch.hpp"
#include "support/options.hpp"
#include "tegula/tegula.hpp"

using namespace tegula;
using tegula::test::ContainsSubstring;

namespace {

inline constexpr auto copied = kernel("copied", [](in<float, 1> x, out<float, 1> y) {
  auto g = grid_over(y, shape<4096>);
  store(y, shape<4096>, load(x, shape<4096>, g[0]), g[0]);
});

}  // namespace

TEST_CASE("explain adds the share of the limit that the latest launch reached on a device", "[N17]") {
  if (device::cuda_count() == 0) TEGULA_SKIP(device::cuda_status().c_str());
  cuda_stream const order;
  std::int64_t const n = std::int64_t{1} << 26;
  buffer<float> x(order.where(), n), y(order.where(), n);
  x.fill(1);
  CHECK_THAT(explain(copied, x, y), !ContainsSubstring("measured"));
  support::Options options = support::options();
  options.advice = true;
  support::ScopedOptions const scope(options);
  for (int i = 0; i < 3; ++i) launch(order, copied, x, y);
  Advice const found = advice(copied, x, y);
  INFO(found.str());
  CHECK(found.limit == Advice::Limit::memory);
  CHECK(found.slow.empty());
  CHECK(found.measured_share() > 0.5);
  if (std::getenv("TEGULA_ARCH") == nullptr) CHECK(found.measured_share() < 1.2);  // an older GPU's memory is slower
  CHECK_THAT(explain(copied, x, y), ContainsSubstring(" % measured\n"));
}

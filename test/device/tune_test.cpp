// Tunes on a device: short launches are replayed as graphs, over copies of the tensors.
#include <algorithm>
#include <numeric>
#include <vector>

#include "support/catch.hpp"
#include "tegula/tegula.hpp"
#include "tegula/tune/tune.hpp"

using namespace tegula;

namespace {

template <int width>
inline constexpr auto counted = kernel("counted", [](in<float, 1> x, inout<float, 1> y) {
  auto g = grid_over(y, shape<width>);
  store(y, shape<width>, load(y, shape<width>, g[0]) + load(x, shape<width>, g[0]), g[0]);
});

}  // namespace

TEST_CASE("the tuner times short launches on a device, and leaves what one launch leaves", "[N15]") {
  if (device::cuda_count() == 0) TEGULA_SKIP(device::cuda_status().c_str());
  device const where = device::cuda();
  stream const order(where);
  std::vector<float> x(100'000), y(x.size(), 1.F);
  std::iota(x.begin(), x.end(), 0.F);
  buffer<float> const from(where, x);
  buffer<float> to(where, y);
  TuneOptions options;
  options.busy_seconds = 0.002;
  options.max_estimate = options.max_seconds = 1e9;
  TuneResult const found =
      tune(order, options, variants("counted", counted<512>, counted<1024>, counted<2048>), from, to);
  for (TunedKernel const& kernel : found.kernels) {
    INFO(found.str());
    CHECK(kernel.identical);
    CHECK(kernel.seconds > 0);
  }
  to.copy_to(y);
  for (std::size_t i = 0; i < y.size(); ++i) REQUIRE(y[i] == 1.F + x[i]);
}

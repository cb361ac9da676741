// Host kernels are compiled for another CPU than this machine's on request.
#include <vector>

#include "support/catch.hpp"
#include "support/options.hpp"
#include "tegula/tegula.hpp"

using namespace tegula;
using namespace tegula::test;

namespace {

/// A kernel of its own for each call, so that none is found compiled.
template <int factor>
inline constexpr auto times = kernel("times", [](in<float, 1> x, out<float, 1> y) {
  auto g = grid_over(y, shape<64>);
  store(y, shape<64>, load(x, shape<64>, g[0]) * static_cast<float>(factor), g[0]);
});

}  // namespace

TEST_CASE("TEGULA_HOST_CPU names the CPU that host kernels are compiled for") {
  std::vector<float> const x(100, 2);
  std::vector<float> y(100);
  support::Options options = support::options();
  options.cache = support::CacheMode::off;
  options.device = "host";
  options.host_cpu = "no-such-cpu";
  {
    support::ScopedOptions const scope(options);
    CHECK_THROWS_WITH(launch(host_stream(), times<3>, x, y), ContainsSubstring("host: unknown CPU \"no-such-cpu\""));
  }
#if defined(__x86_64__)
  options.host_cpu = "x86-64-v2";
  support::ScopedOptions const scope(options);
  launch(host_stream(), times<5>, x, y);
  CHECK(y == std::vector<float>(100, 10));
  CHECK_THAT(explain(times<5>, x, y), ContainsSubstring("x86-64-v2"));
#endif
}

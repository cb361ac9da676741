// Kernels of 20 000 ops: on the host, in both simulators and through the cuda pipeline, on a small stack and in
// seconds.
#include <ctime>

#include "launch_support.hpp"
#include "support/catch.hpp"
#include "support/sanitized.hpp"
#include "support/small_stack.hpp"
#include "tegula/tegula.hpp"

using namespace tegula;
using tegula::test::FreshCaches;
using tegula::test::on_stack_of;

namespace {

constexpr int ops = 20'000;
constexpr std::size_t small_stack = std::size_t{512} << 10;

/// Sums and products of one tile, each of the one before.
auto tile_chain() {
  return kernel("tile_chain", [count = ops](in<float, 1> x, out<float, 1> y) {
    auto g = grid_over(y, shape<64>);
    tile v = load(x, shape<64>, g[0]);
    for (int i = 0; i < count; i += 2) v = v * 0.75F + static_cast<float>(i % 5);
    store(y, shape<64>, v, g[0]);
  });
}

/// Scalars each of which is read twice by the next.
auto doubled_chain() {
  return kernel("doubled_chain", [](in<float, 1> x, out<float, 1> y, arg<std::int64_t> n) {
    auto g = grid_over(y, shape<64>);
    auto at = g[0] + n;
    for (int i = 0; i < 4000; ++i) at = at * 3 - at * 2;
    store(y, shape<64>, load(x, shape<64>, at), g[0]);
  });
}

/// Runs a kernel in every way; true if all ways gave the same.
template <class K, class... Rest>
void check(K const& kernel, Rest... rest) {
  FreshCaches const fresh(support::CacheMode::off);
  std::vector<float> x(200), host(130, -1), tiles(130, -1), warps(130, -1);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
  auto const in_time = [&](char const* what, auto const& work) {
    std::clock_t const start = std::clock();
    on_stack_of(small_stack, work);
    double const seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    INFO(what << ": " << seconds << " s");
    if (!test::sanitized) CHECK(seconds < 5);
  };
  in_time("host", [&] { launch(host_stream(), kernel, x, host, rest...); });
  in_time("tiles", [&] { CHECK(simulate(kernel, x, tiles, rest...).clean); });
  in_time("warps", [&] { CHECK(simulate(kernel, x, warps, rest..., schedule::seed(1)).clean); });
  CHECK(host == tiles);
  CHECK(host == warps);
  in_time("cuda", [&] {
    CompileOptions options;
    options.target = Target::cuda;
    CHECK(!compile(kernel, options).image.empty());
  });
}

}  // namespace

TEST_CASE("a chain of 20000 tile ops runs everywhere on a small stack") { check(tile_chain()); }
TEST_CASE("a chain whose scalars are read twice runs everywhere on a small stack") { check(doubled_chain(), 0); }

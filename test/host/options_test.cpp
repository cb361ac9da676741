// Tests compile options that a call states: launch(stream, with(options), kernel, arguments...).
#include <vector>

#include "jit/kernel_cache.hpp"
#include "launch_support.hpp"
#include "support/catch.hpp"
#include "tegula/tegula.hpp"

using namespace tegula;
using tegula::test::ContainsSubstring;

namespace {

inline constexpr auto guarded = kernel("guarded", [](in<float, 1> x, out<float, 1> y) {
  auto g = grid_over(y, shape<64>);
  tile v = load(x, shape<64>, g[0]);
  device_assert(v >= 0, "a negative number");
  store(y, shape<64>, v, g[0]);
});

}  // namespace

TEST_CASE("a launch takes compile options, and keeps code for each") {
  test::FreshCaches const caches;
  std::vector<float> x(64, -1), y(64, 0);
  CompileOptions options;
  options.asserts = false;
  with const silent(options);
  std::int64_t const before = jit::counters().compilations;
  for (int i = 0; i < 3; ++i) launch(host_stream(), silent, guarded, x, y);
  CHECK(y == x);
  CHECK(jit::counters().compilations == before + 1);
  CHECK_THROWS_WITH(launch(host_stream(), guarded, x, y), ContainsSubstring("a negative number"));
  CHECK(jit::counters().compilations == before + 2);
  prepare(silent, guarded, x, y)(host_stream());
  CHECK(jit::counters().compilations == before + 2);
}

TEST_CASE("explain lists the options of a call") {
  std::vector<float> x(64, 1), y(64, 0);
  CompileOptions options;
  options.asserts = false;
  options.unroll = 2;
  CHECK_THAT(explain(with(options), guarded, x, y), ContainsSubstring("options: unroll = 2, asserts = 0\n"));
  options.ranges = true;
  CHECK_THAT(explain(with(options), guarded, x, y),
             ContainsSubstring("options: unroll = 2, ranges = 1, asserts = 0\n"));
  CHECK_THAT(explain(with({}), guarded, x, y), !ContainsSubstring("options:"));
  CHECK_THAT(explain(guarded, x, y), !ContainsSubstring("options:"));
}

TEST_CASE("options that follow from the call are refused") {
  std::vector<float> x(64, 1), y(64, 0);
  CompileOptions options;
  options.target = Target::cuda;
  CHECK_THROWS_WITH(launch(host_stream(), with(options), guarded, x, y),
                    ContainsSubstring("target, architecture and facts follow from the call"));
}

TEST_CASE("a simulated launch takes the options of the call") {
  std::vector<float> x(64, -1), y(64, 0);
  CompileOptions options;
  options.asserts = false;
  with const silent(options);
  CHECK(simulate(silent, guarded, x, y).clean);
  CHECK_THAT(simulate(guarded, x, y).report, ContainsSubstring("a negative number"));
  simulation const warps = simulate(silent, guarded, x, y, schedule::seed(3));
  CHECK(warps.clean);
  CHECK(warps.executor == simulation::Executor::warps);
  CHECK_FALSE(warps.exact);
  options.exact = true;
  CHECK(simulate(with(options), guarded, x, y, schedule::seed(3)).exact);

  for (bool const by_lambda : {false, true}) {
    support::Options environment = support::options();
    environment.simulate = !by_lambda;
    environment.debug = by_lambda;
    support::ScopedOptions const scope(environment);
    y.assign(64, 0);
    launch(host_stream(), silent, guarded, x, y);
    CHECK(y == x);
    prepare(silent, guarded, x, y)(host_stream());
    CHECK_THROWS_WITH(launch(host_stream(), guarded, x, y), ContainsSubstring("a negative number"));
    options.architecture = "sm_90a";
    if (!by_lambda)
      CHECK_THROWS_WITH(launch(host_stream(), with(options), guarded, x, y), ContainsSubstring("leave them out"));
  }
}

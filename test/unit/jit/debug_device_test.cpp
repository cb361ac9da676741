// Tests the debug device: the lambda is called block by block, bodies as often as they run, with the values of the
// simulator. What a debugger prints is tested in test/gdb.
#include <string>
#include <vector>

#include "jit/debug.hpp"
#include "support/catch.hpp"
#include "support/options.hpp"
#include "tegula/dsl/dsl.hpp"
#include "tegula/jit/launch.hpp"
#include "tegula/support/error.hpp"

using namespace tegula;

namespace {

int body_calls = 0;  // a kernel without captures may count: it records the same

inline constexpr auto sums = kernel("sums", [](in<float, 2> x, out<float, 1> y, arg<int> from) {
  auto g = grid_over(y, shape<4>);
  tile total = loop(range(from, x.extent(1)), zeros<float>(shape<4, 1>), [&](auto k, auto so_far) {
    ++body_calls;
    return so_far + load(x, shape<4, 1>, g[0], k);
  });
  store(y, shape<4>, squeeze(total, axis<1>), g[0]);
});

constexpr auto doubled = function([](auto v) { return let(v * 2); }, noinline);

inline constexpr auto mixed = kernel("mixed", [](in<int, 1> x, inout<int, 1> y, inout<int, 1> count) {
  auto g = grid_over(y, shape<8>);
  tile v = load(x, shape<8>, g[0]);
  tile chosen = if_(
      g[0] == 1, [&] { return doubled(v); }, [&] { return let(v + 1); });
  auto [steps, rest] = while_(
      carry(0, chosen), [&](auto n, auto) { return n < g[0]; }, [&](auto n, auto t) { return carry(n + 1, t + 10); });
  if_(steps > 1, [&] { atomic_add(count, steps, 0); });
  loop(2, [&](auto k) { store(y, shape<8>, load(y, shape<8>, g[0]) + rest + cast<int>(k), g[0]); });
});

inline constexpr auto strict = kernel("strict", [](in<int, 1> x, out<int, 1> y) {
  auto g = grid_over(y, shape<8>);
  tile v = load(x, shape<8>, g[0]);
  device_assert(v < 5, "five or more");
  store(y, shape<8>, v, g[0]);
});

/// Asks for the number in an argument before any op.
inline constexpr auto grid_of_argument = kernel("grid_of_argument", [](out<int, 1> y, arg<std::int64_t> n) {
  auto g = grid(n);
  store(y, shape<1>, 1, g[0]);
});

}  // namespace

TEST_CASE("debug: an argument is known before the first op", "[N7]") {
  std::vector<int> const ones(4, 1);
  std::vector<int> y(4);
  CHECK(debug(grid_of_argument, y, std::int64_t{4}).blocks == 4);
  CHECK(y == ones);
  CHECK(debug(grid_of_argument, y, std::int64_t{0}).blocks == 0);
}

TEST_CASE("debug: bodies of loops are called once an iteration, for each block", "[N7]") {
  std::vector<float> x(8 * 3), y(8);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
  view<float, 2> const from(x.data(), {8, 3});
  (void)simulate(sums, from, y, 0);
  std::vector<float> const wanted = y;
  y.assign(8, -1);
  body_calls = 0;
  simulation const result = debug(sums, from, y, 0);
  CHECK(result.clean);
  CHECK(result.blocks == 2);
  CHECK(result.executor == simulation::Executor::lambda);
  CHECK(body_calls >= 2 * 3);
  CHECK(y == wanted);
  // No iteration: the initial value is the result, and the body is not called.
  body_calls = 0;
  CHECK(debug(sums, from, y, 3).clean);
  CHECK(body_calls == 0);
  CHECK(y == std::vector<float>(8, 0));
}

TEST_CASE("debug: branches, while_, functions, atomics and stores give what the simulator gives", "[N7]") {
  std::vector<int> x(32), y(32, 3), z, count(1, 5), counted;
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<int>(i);
  z = y, counted = count;
  simulation const tiles = simulate(mixed, x, y, count);
  simulation const stepped = debug(mixed, x, z, counted);
  INFO(stepped.report);
  CHECK(tiles.clean);
  CHECK(stepped.clean);
  CHECK(y == z);
  CHECK(count == counted);
  CHECK(counted[0] == 5 + 2 + 3);
}

TEST_CASE("debug: a grid given in the call replaces the kernel's", "[N7]") {
  std::vector<int> x(32, 1), y(32, 0);
  CHECK(debug(strict, grid(2), x, y).blocks == 2);
  CHECK(y[15] == 1);
  CHECK(y[16] == 0);
}

TEST_CASE("debug: a failed assert is reported with its block; TEGULA_DEVICE=debug throws it", "[N7]") {
  std::vector<int> x(32, 1), y(32);
  x[20] = 7;
  simulation const result = debug(strict, x, y);
  CHECK_FALSE(result.clean);
  CHECK_THAT(result.report, test::ContainsSubstring("strict[2, 0, 0]: device_assert failed: five or more"));
  support::Options options = support::options();
  options.debug = true;
  support::ScopedOptions const scope(options);
  CHECK_THROWS_WITH(launch(host_stream(), strict, x, y), test::ContainsSubstring("debug: "));
  x[20] = 2;
  launch(host_stream(), strict, x, y);
  CHECK(y[20] == 2);
}

namespace {

inline constexpr auto gathers = kernel("gathers", [](in<float, 1> a, in<int, 1> i, out<float, 1> b) {
  auto g = grid_over(b, shape<8>);
  store(b, shape<8>, gather(a, load(i, shape<8>, g[0])), g[0]);
});
inline constexpr auto twice = kernel("twice", [](in<float, 2> a, out<float, 2> b) {
  auto g = grid_over(b, shape<4, 8>);
  store(b, shape<4, 8>, load(a, shape<4, 8>, g[0], g[1]) * 2.F, g[0], g[1]);
});
inline constexpr auto divides = kernel("divides", [](in<float, 1> a, out<float, 1> b) {
  auto g = grid_over(b, shape<8>);
  store(b, shape<8>, 1.F / load(a, shape<8>, g[0]), g[0]);
});
inline constexpr auto boxes = kernel("boxes", [](in<float, 1> a, out<float, 1> b, arg<int> by) {
  auto g = grid_over(b, shape<8>);
  store(b, shape<8>, load(a, shape<8>, elem(g[0] * 8 + by)), g[0]);
});
inline constexpr auto wraps = kernel("wraps", [](in<float, 1> a, out<float, 1> b, arg<std::int64_t> by) {
  auto g = grid_over(b, shape<8>);
  store(b, shape<8>, load(a, shape<8>, elem(by * by + 1), pad(0.F)), g[0]);
});
inline constexpr auto counts = kernel("counts", [](inout<int, 1> b, arg<std::int64_t> by) {
  auto g = grid_over(b, shape<8>);
  tile sum = loop(range(by * by, by * by + 1), zeros<int>(shape<8>), [&](auto, auto so_far) { return so_far + 1; });
  store(b, shape<8>, sum, g[0]);
});

support::Options with_checks(bool bounds, bool overflow, bool nan) {
  support::Options options = support::options();
  options.check_bounds = bounds, options.check_overflow = overflow, options.check_nan = nan;
  return options;
}

}  // namespace

TEST_CASE("debug: checks of the environment and of the call find what they find elsewhere", "[N7]") {
  std::vector<float> a(128, 1), b(8), zeros(8);
  std::vector<int> i(8), n(8);
  auto const finds = [](support::Options options, auto const& work, std::string const& message) {
    {
      support::ScopedOptions const off(with_checks(false, false, false));
      CHECK(work().clean);
    }
    support::ScopedOptions const scope(options);
    simulation const result = work();
    INFO(result.report);
    CHECK_FALSE(result.clean);
    CHECK_THAT(result.report, test::ContainsSubstring(message));
    CHECK_THAT(result.report, test::ContainsSubstring("debug_device_test.cpp"));
  };
  i[3] = 5;
  {
    support::ScopedOptions const scope(with_checks(true, true, true));
    CHECK(debug(gathers, a, i, b).clean);
  }
  finds(
      with_checks(false, false, true), [&] { return debug(divides, zeros, b); },
      "check of nan: div of finite values gives NaN or infinity in f32");
  finds(
      with_checks(true, false, false), [&] { return debug(boxes, a, b, 128); },
      "check of bounds: load: the whole tile of 8 along axis 0 is outside of argument1: start and extent 128 128");
  support::ScopedOptions const bounds(with_checks(true, false, false));
  i[3] = 1000;
  simulation const far = debug(gathers, a, i, b);
  CHECK_FALSE(far.clean);
  CHECK_THAT(far.report,
             test::ContainsSubstring("check of bounds: gather: an index of axis 0 is outside of argument1"));
  support::ScopedOptions const overflow(with_checks(false, true, false));
  std::int64_t const large = std::int64_t{1} << 40;
  for (simulation const& result : {debug(wraps, a, b, large), debug(counts, n, large)}) {
    INFO(result.report);
    CHECK_FALSE(result.clean);
    CHECK_THAT(result.report,
               test::ContainsSubstring("check of overflow: mul of i64 wraps, and an index follows from it"));
  }
  CHECK(debug(wraps, a, b, 3).clean);
  CHECK(debug(counts, n, 3).clean);
  // Options of the call count too, and asserts that are switched off leave the checks.
  support::ScopedOptions const none(with_checks(false, false, false));
  CompileOptions of_call;
  of_call.checks.bounds = true;
  of_call.asserts = false;
  support::Options device = support::options();
  device.debug = true;
  support::ScopedOptions const scope(device);
  CHECK_THROWS_WITH(launch(host_stream(), with(of_call), gathers, a, i, b), test::ContainsSubstring("check of bounds"));
  std::vector<int> x(32, 7), y(32);
  launch(host_stream(), with(of_call), strict, x, y);
  CHECK(y[31] == 7);
  of_call.warps = -1;
  CHECK_THROWS_WITH(launch(host_stream(), with(of_call), strict, x, y),
                    test::ContainsSubstring("compile options: warps is -1"));
}

TEST_CASE("debug: a grid of the launch is checked as elsewhere", "[N7]") {
  std::vector<float> a(128, 1), b(128);
  view<float, 2> const x(a.data(), {8, 16}), y(b.data(), {8, 16});
  for (bool const on_debug : {false, true}) {
    support::Options options = support::options();
    options.debug = on_debug;
    support::ScopedOptions const scope(options);
    CHECK_THROWS_WITH(
        launch(host_stream(), twice, grid(4), x, y),
        test::ContainsSubstring("grid(4) given in the launch has rank 1, but the kernel's own grid has 2"));
    CHECK_THROWS_WITH(launch(host_stream(), twice, grid(-1, 2), x, y),
                      test::ContainsSubstring("-1 blocks, at least 0"));
    CHECK_THROWS_WITH(launch(host_stream(), twice, grid(std::int64_t{1} << 40, std::int64_t{1} << 40), x, y),
                      test::ContainsSubstring("more blocks than"));
    CHECK_THROWS_WITH(launch(host_stream(), twice, x, view<float, 2>(a.data(), {8, 16})),
                      test::ContainsSubstring("share memory"));
    CHECK_THROWS_WITH(launch(host_stream(), twice, view<float, 2>(nullptr, {8, 16}), y),
                      test::ContainsSubstring("null address"));
    b.assign(128, 0);
    launch(host_stream(), twice, grid(2, 2), x, y);
    CHECK(b[127] == 2);
  }
}

TEST_CASE("debug: values are printed for the debugger only while a block runs", "[N7]") {
  CHECK(std::string(tegula_debug_text(1, 1)).find("no launch") != std::string::npos);
  std::string seen, index;
  auto const shows = kernel("shows", [&](in<int, 1> x, out<int, 1> y) {
    auto g = grid_over(y, shape<4>);
    tile v = load(x, shape<4>, g[0]) * 2;
    seen = tegula_debug_text(v.handle().trace, v.handle().value);
    index = tegula_debug_text(g[0].handle().trace, g[0].handle().value);
    store(y, shape<4>, v, g[0]);
  });
  std::vector<int> x = {1, 2, 3, 4, 5, 6}, y(6);
  CHECK(debug(shows, x, y).clean);
  CHECK(seen == "4xi32 {10, 12, 0, 0}");
  CHECK(index == "1");
}

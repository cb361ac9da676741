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

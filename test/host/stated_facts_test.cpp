// Tests facts in the types of parameters, and the number of builds of one kernel.
#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "jit/kernel_cache.hpp"
#include "launch_support.hpp"
#include "support/catch.hpp"
#include "tegula/runtime/counters.hpp"
#include "tegula/tegula.hpp"

using namespace tegula;
using tegula::test::ContainsSubstring;

namespace {

inline constexpr auto stated =
    kernel("stated", [](in<float, 2, along<1, fixed<32>>> x, out<float, 2> y, arg<int, fixed<3>> times,
                        arg<std::int64_t, equals<1>> step, arg<int, multiple_of<16>> from) {
      constexpr auto rows = shape<4, decltype(x.extent(axis<1>))::value>;
      static_assert(times.constant.value == 3 && x.extent(axis<-1>).value == 32);
      auto g = grid_over(y, rows);
      tile sum = zeros<float>(rows);
      for (int i = 0; i < times.constant; ++i) sum = sum + load(x, rows, g[0] * step, 0);
      store(y, rows, sum + cast<float>(from) + cast<float>(x.extent(1)), g[0], 0);
    });

/// Holds facts of members too.
struct Scaled {
  in<float, 1, multiple_of<4>, multiple_of<6>> x;
  arg<int, multiple_of<4>, equals<8>> factor;
};
inline constexpr auto of_members = kernel("of_members", [](arg<float> add, Scaled scaled, out<float, 1> y) {
  auto g = grid_over(y, shape<12>);
  store(y, shape<12>, load(scaled.x, shape<12>, g[0]) * cast<float>(scaled.factor) + add, g[0]);
});

/// Reads elements from a number on: wide where the number is known to be a multiple.
template <class... Facts>
inline constexpr auto read_from = kernel("read_from", [](in<float, 1> x, out<float, 1> y, arg<int, Facts...> from) {
  auto g = grid_over(y, shape<512>);
  store(y, shape<512>, load(x, shape<512>, elem(g[0] * 512 + from)), g[0]);
});

inline constexpr auto sum_of_three =
    kernel("sum_of_three", [](in<float, 1> a, in<float, 1> b, in<float, 1> c, out<float, 1> y) {
      auto g = grid_over(y, shape<64>);
      store(y, shape<64>, load(a, shape<64>, g[0]) + load(b, shape<64>, g[0]) * load(c, shape<64>, g[0]), g[0]);
    });

struct Memory {
  std::vector<float> x = std::vector<float>(9 * 40, 2), y = std::vector<float>(8 * 32, -1);
  void run(int columns = 32, int times = 3, int step = 1, int from = 16) {
    launch(host_stream(), stated, view(x.data(), 8, columns), view(y.data(), 8, 32), times, step, from);
  }
};

}  // namespace

TEST_CASE("facts in types hold of the code, which is made for them", "[N10]") {
  Memory memory;
  memory.run();
  CHECK(memory.y == std::vector<float>(8 * 32, 3 * 2 + 16 + 32));
  memory.run(32, 3, 1, -48);
  CHECK(memory.y[255] == 3 * 2 - 48 + 32);
  std::string const text = jit::Traced(stated.trace()).text;
  INFO(text);
  CHECK(text.find("extent %in0 {axis = 1}") == text.rfind("extent %in0 {axis = 1}"));  // of the requirement alone

  CHECK(facts(read_from<>).loads.at(0).bytes == 4);
  CHECK(facts(read_from<multiple_of<4>>).loads.at(0).bytes == 16);
  CHECK(facts(read_from<equals<8>>).loads.at(0).bytes == 16);
  CHECK(facts(read_from<equals<9>>).loads.at(0).bytes == 4);

  std::vector<float> const x(24, 1.5F);
  std::vector<float> y(24);
  launch(host_stream(), of_members, 1, x, 8, y);
  CHECK(y == std::vector<float>(24, 13));
}

TEST_CASE("a launch against the facts in a type names argument, value and remedy", "[N10]") {
  Memory memory;
  CHECK_THROWS_WITH(memory.run(40),
                    ContainsSubstring("stated: argument 1: the extent of axis 1 is not 32, as fixed<32> in "
                                      "its type states; pass 32, or leave the fact out of the type; "
                                      "found 40"));
  CHECK_THROWS_WITH(memory.run(32, 4), ContainsSubstring("argument 3: the number is not 3, as fixed<3> in its type "
                                                         "states; pass 3") &&
                                           ContainsSubstring("found 4"));
  CHECK_THROWS_WITH(memory.run(32, 3, 0), ContainsSubstring("argument 4: the number is not 1, as equals<1> in"));
  CHECK_THROWS_WITH(memory.run(32, 3, 1, 8),
                    ContainsSubstring("argument 5: the number is not a multiple of 16, as multiple_of<16> in"));
  CHECK(memory.y[0] == -1);  // nothing ran

  std::vector<float> const x(24, 1.5F), short_x(20);
  std::vector<float> y(24);
  CHECK_THROWS_WITH(launch(host_stream(), of_members, 1, x, 12, y),
                    ContainsSubstring("argument 3: the number is not 8, as equals<8>"));
  CHECK_THROWS_WITH(launch(host_stream(), of_members, 1, short_x, 8, y),
                    ContainsSubstring("argument 2: the extent of axis 0 is not a multiple of 12"));
  CHECK_THROWS_WITH(prepare(of_members, 1, x, 12, y), ContainsSubstring("argument 3"));
  CHECK_THROWS_WITH(explain(of_members, 1, x, 12, y), ContainsSubstring("argument 3"));
  CHECK_THAT(explain(of_members, 1, x, 8, y),
             ContainsSubstring("requires: argument 3: the number is not 8, as equals<8>"));

  auto const by_simulator = [&](auto const&... order) {
    std::string text;
    try {
      text = simulate(of_members, 1, x, 12, y, order...).report;
    } catch (UserError const& error) {
      text = error.what();
    }
    return text;
  };
  CHECK_THAT(by_simulator(), ContainsSubstring("argument 3"));
  CHECK_THAT(by_simulator(schedule::seed(1)), ContainsSubstring("argument 3"));
  CHECK(simulate(of_members, 1, x, 8, y, schedule::seed(1)).clean);
  y.assign(24, 0);
  CHECK(debug(of_members, 1, x, 8, y).clean);
  CHECK(y == std::vector<float>(24, 13));
  CHECK_THROWS_WITH(debug(of_members, 1, x, 12, y), ContainsSubstring("argument 3"));
}

TEST_CASE("the builds of a kernel are bounded, whatever its tensors are, and counted", "[N10]") {
  test::FreshCaches const caches(support::CacheMode::off);
  LaunchCounters const before = launch_counters();
  CHECK(builds(sum_of_three).count == 0);
  alignas(64) float memory[3][300];
  for (int t = 0; t < 3; ++t)
    for (int i = 0; i < 300; ++i) memory[t][i] = static_cast<float>((i * 7 + t * 13) % 29);
  std::vector<float> y(100);
  for (int round = 0; round < 2; ++round)
    for (int kind = 0; kind < 64; ++kind) {
      // Of each tensor: stride 1 or 2, address aligned or not.
      view<float, 1> operands[3];
      for (int t = 0; t < 3; ++t) {
        int const bits = kind >> (2 * t);
        int const stride = bits % 2 + 1, first = bits / 2 % 2;
        operands[t] = view<float, 1>(memory[t] + first, {100}, {stride});
      }
      std::fill(y.begin(), y.end(), -1.0F);
      launch(host_stream(), sum_of_three, operands[0], operands[1], operands[2], y);
      bool right = true;
      for (int i = 0; i < 100; ++i)
        right = right && y[static_cast<std::size_t>(i)] == operands[0](i) + operands[1](i) * operands[2](i);
      REQUIRE(right);
    }
  Builds const found = builds(sum_of_three);
  CHECK(found.bound == 16);
  CHECK(found.count == found.bound);
  CHECK(launch_counters().kernels_compiled - before.kernels_compiled == found.count);
  view<float, 1> const odd(memory[0] + 1, {100}, {2});
  CHECK_THAT(explain(sum_of_three, odd, odd, odd, y),
             ContainsSubstring("  builds: 16 of at most 16 for this device and these options\n"));

  // The build without facts takes whatever comes beyond the bound; options have builds of their own.
  CompileOptions options;
  options.unroll = 2;
  launch(host_stream(), with(options), sum_of_three, odd, odd, odd, y);
  CHECK(builds(sum_of_three).count == found.count + 1);
}

TEST_CASE("extents and numbers do not make another build", "[N10]") {
  test::FreshCaches const caches(support::CacheMode::off);
  std::vector<float> const x(5000, 1);
  for (int n = 1; n < 50; ++n) {
    std::vector<float> y(static_cast<std::size_t>(n) * 64);
    launch(host_stream(), read_from<multiple_of<4>>, x, y, 4 * n);
  }
  CHECK(builds(read_from<multiple_of<4>>).count == 1);
  // The values that a lambda captures make other kernels, each with builds of its own.
  auto const scaled = [](float factor) {
    return kernel("scaled", [factor](in<float, 1> a, out<float, 1> b) {
      auto g = grid_over(b, shape<64>);
      store(b, shape<64>, load(a, shape<64>, g[0]) * factor, g[0]);
    });
  };
  std::vector<float> y(64);
  for (float const factor : {2.0F, 3.0F, 2.0F}) {
    launch(host_stream(), scaled(factor), x, y);
    CHECK(y[63] == factor);
    CHECK(builds(scaled(factor)).count == 1);
  }
}

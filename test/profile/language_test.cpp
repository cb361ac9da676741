// Tests record and region in kernels: nesting, values, functions, unchanged results, and errors with their lines.
#include <fmt/format.h>

#include <cmath>

#include "host/driver.hpp"
#include "ir/text/text.hpp"
#include "sim/block/simulate.hpp"
#include "support/catch.hpp"
#include "support/log_rows.hpp"
#include "support/message.hpp"
#include "tegula/support/error.hpp"
#include "tegula/target/target_info.hpp"
#include "tegula/tegula.hpp"
#include "trace/traced_kernel.hpp"
#include "transform/pipeline.hpp"

using namespace tegula;
using tegula::test::log_rows;
using tegula::test::LogRow;
using tegula::test::message_of;

namespace {

constexpr std::int64_t rows = 37, columns = 200;

constexpr auto plain = kernel("softmax", [](in<float, 2> x, out<float, 2> y) {
  auto g = grid_over(y, shape<1, 256>);
  tile v = load(x, shape<1, 256>, g[0], 0, pad(-inf));
  tile m = max(v, axis<1>);
  tile e = exp(v - m);
  store(y, shape<1, 256>, e / sum(e, axis<1>), g[0], 0);
});

constexpr auto recorded = kernel("softmax", [](in<float, 2> x, out<float, 2> y) {
  auto g = grid_over(y, shape<1, 256>);
  region all("softmax", g[0]);
  tile v = load(x, shape<1, 256>, g[0], 0, pad(-inf));
  tile e = zeros<float>(shape<1, 256>);
  {
    region exponentials("exponentials");
    tile m = zeros<float>(shape<1, 1>);
    {
      region maximum("maximum");
      m = max(v, axis<1>);
    }
    e = exp(v - m);
  }
  record(start, "store");
  store(y, shape<1, 256>, e / sum(e, axis<1>), g[0], 0);
  record(stop, "store");
});

std::vector<float> numbers() {
  std::vector<float> x(static_cast<std::size_t>(rows * columns));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i) * 1.7F) * 9;
  return x;
}

CompileOptions profiled(ProfileStrategy strategy = ProfileStrategy::shared) {
  CompileOptions options;
  options.profile.user = true;
  options.profile.strategy = strategy;
  return options;
}

template <class Kernel, class... Chosen>
std::vector<float> on_host(Kernel const& kernel, Chosen const&... chosen) {
  std::vector<float> x = numbers(), y(x.size());
  launch(host_stream(), chosen..., kernel, view<float const, 2>(x.data(), rows, columns),
         view<float, 2>(y.data(), rows, columns));
  return y;
}

template <class Kernel, class... Chosen>
std::vector<float> in_warps(Kernel const& kernel, Chosen const&... chosen) {
  std::vector<float> x = numbers(), y(x.size());
  simulation const result = simulate(chosen..., kernel, view<float const, 2>(x.data(), rows, columns),
                                     view<float, 2>(y.data(), rows, columns), schedule::seed(4));
  INFO(result.report);
  CHECK(result.clean);
  return y;
}

/// Returns the message of the trace of a kernel.
template <class Kernel>
std::string error_of(Kernel const& kernel) {
  return message_of([&] { (void)kernel.trace(); });
}

std::vector<LogRow> simulated_rows(ir::Module const& module, CompileOptions options, std::vector<float>& x,
                                   std::vector<float>& y) {
  options.target = Target::cuda;
  options.architecture = gpu_targets.front()->architecture;
  ir::Module const lowered = compiler::lower(module, options);
  std::vector<std::byte> bytes;
  sim::block::Options run;
  run.profile = &bytes;
  sim::Arguments const arguments = {sim::dense(x.data(), Element::f32, {rows, columns}),
                                    sim::dense(y.data(), Element::f32, {rows, columns})};
  auto const result = sim::block::run(lowered.kernel(), arguments, sim::machine::Schedule::seed(1), run);
  INFO(result.str());
  CHECK(result.clean());
  return log_rows(compiler::emit(lowered, options).profile, bytes);
}

}  // namespace

TEST_CASE("record: softmax with three nested regions has unchanged values and nested entries", "[P18][P12]") {
  std::vector<float> const expected = on_host(plain);
  CHECK(on_host(recorded) == expected);
  CHECK(on_host(recorded, with(profiled())) == expected);
  std::vector<float> const warps = in_warps(plain);
  CHECK(in_warps(recorded) == warps);
  for (ProfileStrategy const strategy : {ProfileStrategy::shared, ProfileStrategy::device}) {
    CHECK(in_warps(recorded, with(profiled(strategy))) == warps);
    std::vector<float> x = numbers(), y(x.size());
    auto const found = simulated_rows(trace::module(recorded.trace()), profiled(strategy), x, y);
    CHECK(y == warps);
    REQUIRE(found.size() % rows == 0);
    for (LogRow const& row : found) {
      CHECK(text_of(row) ==
            fmt::format("+softmax ={} +exponentials +maximum -maximum -exponentials +store -store -softmax",
                        row.header.cta));
      CHECK(is_nested(row));
    }
  }
}

TEST_CASE("record: values made between two records are computed between them", "[P1][P12]") {
  std::string const text = ir::print(trace::module(recorded.trace()));
  auto const at = [&](std::string const& part) { return text.find(part); };
  CHECK(at("load") > at("name = \"softmax\""));
  CHECK(at("load") < at("name = \"exponentials\""));
  CHECK(at("reduce") > at("name = \"maximum\""));
  CHECK(at("reduce") < at("event = stop, name = \"maximum\""));
  CHECK(at("= exp %") > at("event = stop, name = \"maximum\""));
  CHECK(at("= exp %") < at("event = stop, name = \"exponentials\""));
  CHECK(at("store %") < at("event = stop, name = \"store\""));
}

TEST_CASE("record: in loops, branches and functions, also in one that is called twice", "[P1]") {
  constexpr auto twice = function(
      [](auto t) {
        region r("twice");
        return t + t;
      },
      noinline);
  constexpr auto k = kernel("k", [twice](in<float, 2> x, out<float, 2> y) {
    auto g = grid_over(y, shape<1, 256>);
    tile v = load(x, shape<1, 256>, g[0], 0);
    tile r = loop(2, v, [&](auto i, auto t) {
      region each("turn", i);
      return t + v;
    });
    tile s = if_(
        g[0] > 0,
        [&] {
          region one("branch");
          return r + 1.0F;
        },
        [&] { return r; });
    store(y, shape<1, 256>, twice(twice(s)), g[0], 0);
  });
  std::vector<float> x = numbers(), y(x.size());
  auto const found = simulated_rows(trace::module(k.trace()), profiled(), x, y);
  for (LogRow const& row : found) {
    std::string const branch = row.header.cta > 0 ? " +branch -branch" : "";
    CHECK(text_of(row) == "+turn =0 -turn +turn =1 -turn" + branch + " +twice -twice +twice -twice");
  }
  for (std::size_t i = 0; i < y.size(); ++i)
    CHECK(y[i] == 4 * (3 * x[i] + (i >= static_cast<std::size_t>(columns) ? 1.0F : 0.0F)));
}

TEST_CASE("record: starts and stops that do not meet are errors with both lines", "[P1]") {
  auto const stops = error_of(kernel("k", [](out<float, 1> y) {
    auto g = grid_over(y, shape<64>);
    record(stop, "sum");
    store(y, shape<64>, zeros<float>(shape<64>), g[0]);
  }));
  CHECK_THAT(stops, test::ContainsSubstring("\"sum\" stops but has not started in the body of kernel 'k'"));
  CHECK_THAT(stops, test::ContainsSubstring("language_test.cpp:"));
  auto const starts = error_of(kernel("k", [](out<float, 1> y) {
    auto g = grid_over(y, shape<64>);
    tile t = loop(3, zeros<float>(shape<64>), [&](auto, auto a) {
      record(start, "sum");
      return a + 1.0F;
    });
    store(y, shape<64>, t, g[0]);
  }));
  CHECK_THAT(starts, test::ContainsSubstring("\"sum\" starts in the loop"));
  CHECK_THAT(starts, test::ContainsSubstring("but does not stop in it; write record(stop, \"sum\") on each path"));
  auto const across = error_of(kernel("k", [](out<float, 1> y) {
    auto g = grid_over(y, shape<64>);
    record(start, "sum");
    tile t = loop(3, zeros<float>(shape<64>), [&](auto, auto a) {
      record(stop, "sum");
      return a + 1.0F;
    });
    store(y, shape<64>, t, g[0]);
  }));
  CHECK_THAT(across, test::ContainsSubstring("\"sum\" stops in the loop"));
  CHECK_THAT(across, test::ContainsSubstring("but started"));
}

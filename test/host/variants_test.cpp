// Several kernels that launch as one: choice by table and by estimate, the tuner, its log and its tables.
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "jit/kernel_cache.hpp"
#include "launch_support.hpp"
#include "support/catch.hpp"
#include "tegula/tegula.hpp"
#include "tegula/tune/tune.hpp"
#include "tune/log.hpp"

using namespace tegula;
using tegula::test::ContainsSubstring;
using By = VariantChoice::By;
using State = TunedKernel::State;

namespace {

template <int rows, int columns>
inline constexpr auto scaled = kernel("scaled", [](in<float, 2> x, arg<float> factor, out<float, 2> y) {
  auto g = grid_over(y, shape<rows, columns>);
  store(y, shape<rows, columns>, load(x, shape<rows, columns>, g[0], g[1]) * factor, g[0], g[1]);
});
inline constexpr auto shifted = kernel("shifted", [](in<float, 2> x, arg<float> factor, out<float, 2> y) {
  auto g = grid_over(y, shape<8, 64>);
  store(y, shape<8, 64>, load(x, shape<8, 64>, g[0], g[1]) * factor + 1.F, g[0], g[1]);
});
inline constexpr auto picky = kernel("picky", [](in<float, 2> x, arg<float> factor, out<float, 2> y) {
  auto g = grid_over(y, shape<8, 64>);
  require(y.extent(0) == 3, "three rows alone");
  store(y, shape<8, 64>, load(x, shape<8, 64>, g[0], g[1]) * factor, g[0], g[1]);
});
template <int width>
inline constexpr auto counted_by = kernel("counted", [](inout<std::int32_t, 1> y) {
  auto g = grid_over(y, shape<width>);
  store(y, shape<width>, load(y, shape<width>, g[0]) + 1, g[0]);
});

struct Arrays {
  std::vector<float> x, y;
  view<float const, 2> in;
  view<float, 2> out;
  Arrays(std::int64_t rows, std::int64_t columns)
      : x(static_cast<std::size_t>(rows * columns)),
        y(x.size(), -1.F),
        in(x.data(), rows, columns),
        out(y.data(), rows, columns) {
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 97);
  }
  [[nodiscard]] bool right(float factor) const {
    for (std::size_t i = 0; i < x.size(); ++i)
      if (y[i] != x[i] * factor) return false;
    return true;
  }
};

/// Names a file that is gone when the test ends.
struct File {
  std::string path =
      (std::filesystem::temp_directory_path() / fmt::format("tegula-variants-{}-{}", ::getpid(), number++)).string();
  File() { std::filesystem::remove(path); }
  ~File() { std::filesystem::remove(path); }
  File(File const&) = delete;
  File& operator=(File const&) = delete;
  [[nodiscard]] std::string text() const {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }
  static inline int number = 0;
};

TuneOptions quick(std::string const& log = "") {
  TuneOptions options;
  options.log = log;
  options.idle_seconds = 0;
  options.busy_seconds = 0.002;
  options.rounds = 3;
  options.max_estimate = options.max_seconds = 1e9;
  return options;
}

}  // namespace

TEST_CASE("variants launch as one kernel, whichever is taken", "[N15]") {
  auto const all = variants("scale", scaled<8, 64>, scaled<1, 16>, variant("wide", scaled<4, 256>));
  Arrays a(37, 150);
  launch(host_stream(), all, a.in, 3.F, a.out);
  CHECK(a.right(3));
  prepare(all, a.in, 5.F, a.out)(host_stream());
  CHECK(a.right(5));
  CHECK(simulate(all, a.in, 6.F, a.out).clean);
  CHECK(a.right(6));
  CHECK(debug(all, a.in, 7.F, a.out).clean);
  CHECK(a.right(7));
  CHECK_THAT(explain(all, a.in, 3.F, a.out),
             ContainsSubstring("variant: ") && ContainsSubstring("estimates: scaled: "));
  VariantChoice const found = choice(all, a.in, 3.F, a.out);
  CHECK(found.by == By::model);
  CHECK_THAT(found.why, ContainsSubstring("scaled #2: ") && ContainsSubstring("wide: "));
}

TEST_CASE("a table decides, by label, and what it does not name is not compiled", "[N15]") {
  test::FreshCaches const caches;
  std::string const architecture = device::host().architecture(), name = device::host().name();
  TunedChoice const choices[] = {
      {{64, 128, 64, 128}, "wide", 1e-6}, {{4096, 32, 4096, 32}, "scaled #2", 1e-6}, {{7, 7, 7, 7}, "gone", 1e-6}};
  TunedTable const table{"scale", architecture.c_str(), name.c_str(), "some compiler", 4, choices, 3};
  auto const all = variants("scale", scaled<8, 64>, scaled<1, 16>, variant("wide", scaled<4, 256>)).tuned(table);
  Arrays a(64, 128), near(90, 110), far(4, 5000), gone(7, 7);
  jit::Counters const before = jit::counters();
  launch(host_stream(), all, a.in, 2.F, a.out);
  CHECK(a.right(2));
  CHECK(jit::counters().traces == before.traces + 1);
  CHECK(jit::counters().compilations == before.compilations + 1);
  CHECK(choice(all, a.in, 2.F, a.out).by == By::table);
  CHECK(choice(all, a.in, 2.F, a.out).label == "wide");
  CHECK_THAT(choice(all, a.in, 2.F, a.out).why, ContainsSubstring(name) && ContainsSubstring("some compiler"));
  CHECK(choice(all, near.in, 2.F, near.out).by == By::nearest);
  CHECK(choice(all, near.in, 2.F, near.out).number == 2);
  CHECK_THAT(choice(all, near.in, 2.F, near.out).why, ContainsSubstring("(64, 128, 64, 128)"));
  CHECK(jit::counters().traces == before.traces + 3);  // the model must agree
  CHECK(jit::counters().compilations == before.compilations + 1);
  CHECK(choice(all, far.in, 2.F, far.out).by == By::model);
  CHECK(choice(all, gone.in, 2.F, gone.out).by == By::model);

  SECTION("a table of another device, kernel or count of numbers is not taken") {
    TunedTable other = table;
    SECTION("device") { other.device = "another CPU"; }
    SECTION("architecture") { other.architecture = "sm_90a"; }
    SECTION("kernel") { other.kernel = "scales"; }
    SECTION("numbers") { other.numbers = 3; }
    CHECK(choice(variants("scale", scaled<8, 64>, variant("wide", scaled<4, 256>)).tuned(other), a.in, 2.F, a.out).by ==
          By::model);
  }
}

TEST_CASE("options of a variant count, and those of the call come on top", "[N15]") {
  auto const all = variants("scale", variant("unrolled", with({.unroll = 2}), scaled<8, 64>));
  Arrays a(8, 64);
  CHECK_THAT(explain(all, a.in, 3.F, a.out), ContainsSubstring("options: unroll = 2\n"));
  CompileOptions options;
  options.asserts = false;
  options.stages = 3;
  CHECK_THAT(explain(with(options), all, a.in, 3.F, a.out),
             ContainsSubstring("options: stages = 3, unroll = 2, asserts = 0\n"));
  options.unroll = 4;
  CHECK_THAT(explain(with(options), all, a.in, 3.F, a.out), ContainsSubstring("unroll = 4"));
  launch(host_stream(), with(options), all, a.in, 3.F, a.out);
  CHECK(a.right(3));
}

TEST_CASE("more tables than variants hold are refused", "[N15]") {
  TunedTable const table{"scale", "x", "y", "z", 4, nullptr, 0};
  auto all = variants("scale", scaled<8, 64>);
  for (int i = 0; i < 8; ++i) all = all.tuned(table);
  CHECK_THROWS_WITH(all.tuned(table), ContainsSubstring("more than 8 tables"));
}

TEST_CASE("the tuner takes the fastest, and says why the others are out", "[N15]") {
  test::FreshCaches const caches;
  auto const all = variants("scale", scaled<1, 1>, variant("tiles", scaled<8, 64>), shifted, picky,
                            variant("unrolled", with({.unroll = -1}), scaled<8, 64>));
  Arrays a(256, 512);
  TuneResult const found = tune(host_stream(), quick(), all, a.in, 3.F, a.out);
  INFO(found.str());
  CHECK(a.right(3));
  REQUIRE(found.kernels.size() == 5);
  REQUIRE((found.best == 0 || found.best == 1));
  CHECK(found.problem == std::vector<std::int64_t>{256, 512, 256, 512});
  TunedKernel const& fastest = found.kernels[static_cast<std::size_t>(found.best)];
  CHECK(found.kernels[static_cast<std::size_t>(1 - found.best)].seconds >= fastest.seconds);
  CHECK(fastest.state == State::measured);
  CHECK(found.kernels[1].identical);
  CHECK(found.kernels[2].state == State::differs);
  CHECK_THAT(found.kernels[2].why,
             ContainsSubstring("parameter 2, element 0 in memory: 1 where the first kernel gave 0"));
  CHECK(found.kernels[3].state == State::refused);
  CHECK_THAT(found.kernels[3].why, ContainsSubstring("three rows alone"));
  CHECK(found.kernels[4].state == State::refused);
  CHECK_THAT(found.str(), ContainsSubstring("* " + fastest.label));

  SECTION("a kernel that is expected to be many times slower is not compiled") {
    TuneOptions options = quick();
    options.max_estimate = 1.5;
    std::int64_t const before = jit::counters().compilations;
    TuneResult const again =
        tune(host_stream(), options, variants("scale", scaled<1, 1>, scaled<8, 64>), a.in, 3.F, a.out);
    CHECK(again.kernels[0].state == State::estimated);
    CHECK(jit::counters().compilations == before);
  }
  SECTION("without a kernel that runs, all reasons are listed") {
    CHECK_THROWS_WITH(tune(host_stream(), quick(), variants("scale", picky), a.in, 3.F, a.out),
                      ContainsSubstring("no kernel runs") && ContainsSubstring("three rows alone"));
  }
}

TEST_CASE("the tuner leaves what a launch leaves: memory that is read and written is restored", "[N15]") {
  std::vector<std::int32_t> y(1000, 41);
  TuneResult const found =
      tune(host_stream(), quick(), variants("counted", counted_by<64>, counted_by<128>, counted_by<32>), y);
  CHECK(y == std::vector<std::int32_t>(1000, 42));
  for (TunedKernel const& kernel : found.kernels) CHECK(kernel.identical);
}

TEST_CASE("options with which no search can be made are refused with value and range", "[N15]") {
  std::vector<std::int32_t> y(1000, 41);
  auto const all = variants("counted", counted_by<64>, counted_by<128>);
  double const nan = std::numeric_limits<double>::quiet_NaN(), infinite = std::numeric_limits<double>::infinity();
  for (double TuneOptions::*const member :
       {&TuneOptions::max_seconds, &TuneOptions::idle_seconds, &TuneOptions::busy_seconds, &TuneOptions::cold_bytes,
        &TuneOptions::max_estimate})
    for (double const value : {nan, -1.0, infinite, -infinite}) {
      TuneOptions options = quick();
      options.*member = value;
      CHECK_THROWS_WITH(tune(host_stream(), options, all, y),
                        ContainsSubstring("counted: tune: ") && ContainsSubstring("; take "));
    }
  TuneOptions options = quick();
  options.rounds = std::numeric_limits<int>::max();
  CHECK_THROWS_WITH(tune(host_stream(), options, all, y), ContainsSubstring("rounds is 2147483647; take 0 to 1000000"));
  CHECK(y == std::vector<std::int32_t>(1000, 41));
}

TEST_CASE("a search goes on from its log, and writes a table", "[N15]") {
  test::FreshCaches const caches;
  File const log, header;
  auto const all = variants("scale", variant("tiles", scaled<8, 64>), variant("say \"1\"", scaled<1, 16>));
  Arrays a(64, 128), b(32, 32);
  TuneResult const first = tune(host_stream(), quick(log.path), all, a.in, 3.F, a.out);
  CHECK_FALSE(first.from_log);
  {
    std::ofstream cut(log.path, std::ios::app);
    cut << R"({"kernel": "scale", "archit)";  // a process that was killed
  }
  TuneResult const second = tune(host_stream(), quick(log.path), all, b.in, 3.F, b.out);
  CHECK_FALSE(second.from_log);
  jit::clear_memory_cache();
  jit::Counters const before = jit::counters();
  TuneResult const again = tune(host_stream(), quick(log.path), all, a.in, 3.F, a.out);
  CHECK(again.from_log);
  CHECK(again.best == first.best);
  CHECK(jit::counters().traces == before.traces);
  REQUIRE(again.kernels.size() == 2);
  CHECK(again.kernels[0].seconds == Approx(first.kernels[0].seconds));
  CHECK(tune(host_stream(), quick(log.path), all, b.in, 3.F, b.out).from_log);
  // Another list of kernels is another search.
  CHECK_FALSE(tune(host_stream(), quick(log.path), variants("scale", scaled<8, 64>), b.in, 3.F, b.out).from_log);

  CHECK(write_tuned_table(log.path, "scale", device::host(), header.path, "scale_table") == 2);
  std::string const text = header.text();
  CHECK_THAT(text, ContainsSubstring("inline constexpr tegula::TunedTable scale_table = {"));
  CHECK_THAT(text, ContainsSubstring("{{64, 128, 64, 128}, \""));
  CHECK_THAT(text, ContainsSubstring(".numbers = 4,"));
  CHECK_THAT(text, !ContainsSubstring("say \"1\""));  // quotes are escaped
  CHECK_THROWS_WITH(write_tuned_table(log.path, "scale", device::host(), header.path, "a b"),
                    ContainsSubstring("'a b' is no name in C++"));
  CHECK_THROWS_WITH(write_tuned_table(log.path, "other", device::host(), header.path, "t"),
                    ContainsSubstring("has no result of other"));
  CHECK_THROWS_WITH(write_tuned_table(log.path, "scale", device::host(), "/nonexistent/t.hpp", "t"),
                    ContainsSubstring("cannot write the table /nonexistent/t.hpp"));
  CHECK_THROWS_WITH(tune(host_stream(), quick("/nonexistent/log"), all, a.in, 3.F, a.out),
                    ContainsSubstring("cannot write the log /nonexistent/log"));
}

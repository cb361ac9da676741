// Tests device_assert and device_print on the host and in both simulators.
#include "kernels/debug_kernels.hpp"

#include <fmt/format.h>

#include <algorithm>

using namespace tegula;
using namespace tegula::test;

namespace {

/// Returns the UserError of a call.
template <class Call>
UserError error_of(Call&& call) {
  try {
    call();
  } catch (UserError const& error) {
    return error;
  }
  return UserError("no error");
}

std::size_t count_of(std::string const& text, std::string const& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

}  // namespace

TEST_CASE("a false constant compiles and fires on host and simulators", "[F38]") {
  Array<int, 1> y({100});
  UserError const error = error_of([&] { run_on(Executor::host, never, y); });
  CHECK_THAT(error.what(), ContainsSubstring("device_assert failed: never reached"));
  CHECK(y[0] == 0);
  for (Executor const on : {Executor::tiles, Executor::warps})
    CHECK_THAT(run_on(on, never, y), ContainsSubstring("device_assert failed: never reached"));
}

TEST_CASE("a failed assert ends a launch with message, file, line and block; the next launch works", "[F39]") {
  FreshCaches const fresh(support::CacheMode::off);
  for (int const threads : {1, 4}) {
    support::Options options = support::options();
    options.threads = threads;
    support::ScopedOptions const scope(options);
    Array<float, 1> x({64 * 500}, 1), y({64 * 500});
    x[64 * 300 + 7] = -1;
    UserError const error = error_of([&] { run_on(Executor::host, checked, x, y); });
    CHECK_THAT(error.what(), ContainsSubstring("checked[300, 0, 0]: device_assert failed: x is negative (100% of it)"));
    CHECK_THAT(error.what(), ContainsSubstring(fmt::format("debug_kernels.hpp:{}", line_of_tile_assert)));
    CHECK(error.where().line() == line_of_tile_assert);
    CHECK(y[64 * 300 + 7] == 0);
    std::fill(x.values.begin(), x.values.end(), -1.0F);  // every block fails
    CHECK_THAT(error_of([&] { run_on(Executor::host, checked, x, y); }).what(), ContainsSubstring("x is negative"));
    std::fill(x.values.begin(), x.values.end(), 3.0F);
    TEGULA_CHECK_RUN(Executor::host, checked, x, y);
    CHECK(std::all_of(y.values.begin(), y.values.end(), [](float value) { return value == 6; }));
  }
}

TEST_CASE("the simulators report failed asserts with block and line") {
  for (Executor const on : {Executor::tiles, Executor::warps}) {
    Array<int, 2> x({5, 70}, 1), y({5, 70});
    CHECK(run_on(on, bounded, x, y).empty());
    x[3 * 70] = 11;
    std::string const report = run_on(on, bounded, x, y);
    INFO(name(on) << ": " << report);
    CHECK_THAT(report, ContainsSubstring("bounded[0, 3, 0]: device_assert failed: too large"));
    CHECK_THAT(report, ContainsSubstring(fmt::format("debug_kernels.hpp:{}", line_of_scalar_assert)));
    Array<float, 1> v({300}, 1), w({300});
    v[299] = -1;
    CHECK_THAT(run_on(on, checked, v, w), ContainsSubstring("checked[4, 0, 0]: device_assert failed: x is negative"));
  }
}

TEST_CASE("child that fails an assert on the host", "[.]") { fail_and_say(Executor::host); }

TEST_CASE("a child process reports its failed assert on the host", "[F39]") {
  std::string const said = output_of_child("child that fails an assert on the host");
  CHECK_THAT(said, ContainsSubstring("caught: checked[2, 0, 0]: device_assert failed: x is negative"));
  CHECK_THAT(said, ContainsSubstring(fmt::format("debug_kernels.hpp:{}", line_of_tile_assert)));
}

TEST_CASE("an assert in a function names the caller's block, and keeps a call without other effect") {
  static constexpr auto positive = function(
      "positive",
      [](auto v) {
        device_assert(v > 0, "not positive");
        return let(v + 1);
      },
      noinline);
  static constexpr auto calls = kernel("calls", [](in<int, 1> x, out<int, 1> y) {
    auto g = grid_over(y, shape<64>);
    tile v = load(x, shape<64>, g[0]);
    positive(v);
    store(y, shape<64>, v, g[0]);
  });
  for (Executor const on : executors_without_device) {
    Array<int, 1> x({128}, 1), y({128});
    TEGULA_CHECK_RUN(on, calls, x, y);
    x[127] = 0;
    std::string text;
    try {
      text = run_on(on, calls, x, y);
    } catch (UserError const& error) {
      text = error.what();
    }
    INFO(name(on) << ": " << text);
    CHECK_THAT(text, ContainsSubstring("calls[1, 0, 0]: device_assert failed: not positive"));
  }
}

TEST_CASE("child that prints on the host", "[.]") {
  for (Executor const on : executors_without_device) {
    std::printf("on %s\n", name(on));
    Array<int, 1> x({4}), y({4});
    Array<bf16, 2> h({16, 8}, bf16(1.5F));
    for (int i = 0; i < 4; ++i) x[i] = 10 * i;
    CHECK(run_on(on, talks, x, h, y).empty());
  }
}

TEST_CASE("prints give whole lines in the order of the kernel on host and simulators") {
  std::string const said = output_of_child("child that prints on the host");
  INFO(said);
  // The warps are simulated after the tiles, which print.
  CHECK(count_of(said, "talks[0, 0, 0]: 100% of 0 0.5 0 2xi32[0, 10]\n") == 3);
  CHECK(count_of(said, "talks[1, 0, 0]: 100% of 1 0.5 1 2xi32[20, 30]\n") == 3);
  CHECK(count_of(said, "1.5, ... 64 more]\n") == 6);
  CHECK(count_of(said, "talks[1, 0, 0]: end\n") == 3);
  std::size_t const first = said.find("talks[1, 0, 0]: 100%"), second = said.find("talks[1, 0, 0]: all 16x8xbf16[1.5"),
                    third = said.find("talks[1, 0, 0]: end");
  CHECK(first < second);
  CHECK(second < third);
}

TEST_CASE("asserts are removed on request, and the code is that of the kernel without them", "[F38]") {
  CompileOptions options;
  options.target = Target::cuda;
  options.architecture = "sm_90a";
  options.facts.assign(3, TensorFacts{true, true});
  CompiledKernel const with = compile(checked_product<true>, options);
  CompiledKernel const plain = compile(checked_product<false>, options);
  CHECK_THAT(with.image, ContainsSubstring("__assertfail"));
  CHECK_THAT(with.image, ContainsSubstring("cp.async.bulk.tensor"));
  CHECK_THAT(with.image, ContainsSubstring("wgmma"));
  options.asserts = false;
  CHECK(compile(checked_product<true>, options).image == plain.image);

  support::Options environment = support::options();
  environment.asserts = false;
  support::ScopedOptions const scope(environment);
  for (Executor const on : executors_without_device) {
    Array<int, 1> y({100});
    TEGULA_CHECK_RUN(on, never, y);
    CHECK(y[99] == 1);
  }
}

TEST_CASE("a product with asserts in its loop is right on warps, and reports the failed one") {
  Array<bf16, 2> a({64, 256}, bf16(1.0F)), b({256, 128}, bf16(2.0F));
  Array<float, 2> c({64, 128});
  TEGULA_CHECK_RUN(Executor::warps, checked_product<true>, a, b, c);
  CHECK(c[64 * 128 - 1] == 512);
  Array<bf16, 2> wide({64, 320}, bf16(1.0F)), tall({320, 128}, bf16(2.0F));
  for (Executor const on : {Executor::tiles, Executor::warps})
    CHECK_THAT(run_on(on, checked_product<true>, wide, tall, c),
               ContainsSubstring("device_assert failed: long product"));
}

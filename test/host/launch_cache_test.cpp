// Tests which launches share a trace and code: kernels with captures and without, equal ones, in memory and on disk.
#include <algorithm>
#include <string>
#include <vector>

#include "jit/build.hpp"
#include "jit/kernel_memo.hpp"
#include "jit/launch_options.hpp"
#include "launch_kernels.hpp"
#include "launch_support.hpp"
#include "runtime/cache/disk_cache.hpp"
#include "support/catch.hpp"
#include "support/diagnostics.hpp"
#include "support/key_text.hpp"
#include "support/message.hpp"
#include "tegula/tegula.hpp"

using namespace tegula;
using namespace tegula::test;

TEST_CASE("a captureless kernel is traced once and compiled once per set of facts") {
  FreshCaches const fresh(support::CacheMode::off);
  auto const start = jit::counters();
  buffer<float> a(device::host(), 512), b(device::host(), 512), c(device::host(), 512);
  a.fill(1);
  b.fill(2);
  for (int i = 0; i < 5; ++i) launch(here, vadd, a, b, c);
  CHECK(jit::counters().traces == start.traces + 1);
  CHECK(jit::counters().compilations == start.compilations + 1);
  launch(here, vadd, a.on_host().slice(0, 0, 512, 2), b.on_host().slice(0, 0, 256), c.on_host().slice(0, 0, 256));
  CHECK(jit::counters().traces == start.traces + 1);
  CHECK(jit::counters().compilations == start.compilations + 2);
  CHECK(c.on_host()(255) == 3);
}

namespace {
int changing = 1;
inline constexpr auto reads_a_global = kernel("reads_a_global", [](in<float, 1> x, out<float, 1> y) {
  auto g = grid_over(y, shape<64>);
  store(y, shape<64>, load(x, shape<64>, g[0]) * changing, g[0]);
});
}  // namespace

TEST_CASE("a captureless kernel whose later trace differs is refused with the difference") {
  FreshCaches const fresh;
  std::vector<float> const x(64, 3);
  std::vector<float> y(64);
  changing = 1;
  launch(host_stream(), reads_a_global, x, y);
  changing = 2;
  for (int times = 0; times < 2; ++times)
    CHECK_THROWS_WITH(
        launch(host_stream(), reads_a_global, x, y),
        ContainsSubstring("kernel 'reads_a_global': a later trace gave `%6 = constant {value = 2 : f32}") &&
            ContainsSubstring("capture the value in the lambda or make it an arg"));
  CHECK_THROWS_WITH(simulate(reads_a_global, x, y), ContainsSubstring("a later trace gave"));
  changing = 1;
  launch(host_stream(), reads_a_global, x, y);
  CHECK(y[5] == 3);
  // Compared again at the eighth call, at every one on request.
  changing = 4;
  for (int call = 6; call < 8; ++call) {
    launch(host_stream(), reads_a_global, x, y);
    CHECK(y[5] == 3);
  }
  for (int times = 0; times < 2; ++times)
    CHECK_THROWS_WITH(launch(host_stream(), reads_a_global, x, y), ContainsSubstring("value = 4"));
  changing = 1;
  launch(host_stream(), reads_a_global, x, y);
  changing = 4;
  launch(host_stream(), reads_a_global, x, y);
  CHECK(y[5] == 3);
  support::Options each = support::options();
  each.verify_each = true;
  support::ScopedOptions const scope(each);
  CHECK_THROWS_WITH(launch(host_stream(), reads_a_global, x, y), ContainsSubstring("value = 4"));
}

TEST_CASE("a kernel with captures is traced at each launch and never stale") {
  FreshCaches const fresh(support::CacheMode::off);
  auto const start = jit::counters();
  std::vector<float> x(100, 1), y(100);
  for (int round = 0; round < 3; ++round)
    for (float factor : {2.0f, 3.0f}) {
      launch(here, scaled(factor), x, y);
      CHECK(y[99] == factor);
    }
  CHECK(jit::counters().traces == start.traces + 6);
  CHECK(jit::counters().compilations == start.compilations + 2);
}

TEST_CASE("two translation units with different lambdas of the same name have different kernels") {
  FreshCaches const fresh;
  std::vector<float> x(100, 5), y(100);
  for (int round = 0; round < 2; ++round) {
    test::run_unit_a(here, x, y);
    CHECK(y[99] == 10);
    test::run_unit_b(here, x, y);
    CHECK(y[99] == 105);
    jit::clear_memory_cache();  // the second round comes from disk
  }
  CHECK(fresh.files().size() == 2);
}

TEST_CASE("a second process reuses the disk cache") {
  FreshCaches const fresh;
  auto const start = jit::counters();
  Sums s(1000);
  launch(here, vadd, s.a, s.b, s.c);
  CHECK(jit::counters().compilations == start.compilations + 1);
  CHECK(fresh.files().size() == 1);
  jit::clear_memory_cache();
  std::fill(s.c.begin(), s.c.end(), 0.0f);
  launch(here, vadd, s.a, s.b, s.c);
  CHECK(s.right());
  CHECK(jit::counters().compilations == start.compilations + 1);
}

TEST_CASE("a damaged cache file is ignored with a warning and replaced") {
  FreshCaches const fresh;
  static int warnings = 0;
  warnings = 0;
  auto const former = support::set_warning_handler([](std::string_view) { ++warnings; });
  Sums s(1000);
  launch(here, vadd, s.a, s.b, s.c);
  REQUIRE(fresh.files().size() == 1);
  std::string const path = fresh.files()[0];
  auto const size = std::filesystem::file_size(path);
  for (auto keep : {size - 1, size / 2, std::uintmax_t{60}, std::uintmax_t{0}}) {
    std::filesystem::resize_file(path, keep);
    jit::clear_memory_cache();
    std::fill(s.c.begin(), s.c.end(), 0.0f);
    int const before = warnings;
    auto const start = jit::counters();
    launch(here, vadd, s.a, s.b, s.c);
    CHECK(s.right());
    CHECK(warnings == before + 1);
    CHECK(jit::counters().compilations == start.compilations + 1);
    CHECK(std::filesystem::file_size(path) == size);
  }
  support::set_warning_handler(former);
}

TEST_CASE("the key names architecture, facts, versions and IR, and two keys print their difference", "[F18]") {
  FreshCaches const fresh;
  jit::Traced const traced(vadd.trace());
  CompileOptions v2 = jit::launch_options({}, device::host(), {{true, true}, {true, false}, {}});
  v2.architecture = "x86-64-v2";
  CompileOptions v3 = v2;
  v3.architecture = "x86-64-v3";
  std::string const a = jit::key_of(traced, v2);
  std::string const b = jit::key_of(traced, v3);
  CHECK(support::explain_difference(a, b) == "architecture: x86-64-v2 | x86-64-v3\n");
  CompileOptions exact = v2;
  exact.exact = true;
  CHECK(support::explain_difference(a, jit::key_of(traced, exact)) == "exact: 0 | 1\n");
  for (char const* field :
       {"tegula=", "llvm=", "target=host", "facts={unit_inner, aligned_16} {unit_inner} {}", "\nir="})
    CHECK_THAT(a, ContainsSubstring(field));
  // Both in one folder: each is found by its own key.
  runtime::DiskCache const cache(support::options());
  cache.store("vadd", "kernel", a, "for v2");
  cache.store("vadd", "kernel", b, "for v3");
  CHECK(cache.find("vadd", "kernel", a) == "for v2");
  CHECK(cache.find("vadd", "kernel", b) == "for v3");
}

namespace {
auto same_lambda(char const* name) {
  return kernel(name, [](in<float, 1> x, out<float, 1> y) {
    auto g = grid_over(y, shape<8>);
    store(y, shape<8>, load(x, shape<8>, g[0]) + 1.F, g[0]);
  });
}
}  // namespace

TEST_CASE("one lambda under several names is several kernels", "[F20]") {
  FreshCaches const fresh(support::CacheMode::off);
  std::vector<float> x(8, 1);
  std::string const built = "second";
  for (int i = 0; i < 20; ++i) {
    std::vector<float> y(8), z(8);
    launch(host_stream(), same_lambda("first"), x, y);
    launch(host_stream(), same_lambda(std::string(built).c_str()), x, z);  // names are compared by their text
    REQUIRE(y[7] == 2);
    REQUIRE(z[7] == 2);
  }
  std::vector<float> y(8);
  CHECK_THAT(explain(same_lambda("first"), x, y), ContainsSubstring("kernel first"));
  CHECK_THAT(explain(same_lambda("second"), x, y), ContainsSubstring("kernel second"));
}

TEST_CASE("equal kernels in two places share code and keep their own source lines") {
  FreshCaches const fresh;
  auto const first = [](float factor) {
    return kernel("twin", [factor](in<float, 1> x, out<float, 1> y) {
      require(x.extent(0) == y.extent(0), "lengths differ");
      store(y, shape<64>, factor * load(x, shape<64>, grid_over(y, shape<64>)[0]), 0);
    });
  };
  constexpr unsigned first_line = __LINE__ - 4;
  auto const second = [](float factor) {
    return kernel("twin", [factor](in<float, 1> x, out<float, 1> y) {
      require(x.extent(0) == y.extent(0), "lengths differ");
      store(y, shape<64>, factor * load(x, shape<64>, grid_over(y, shape<64>)[0]), 0);
    });
  };
  std::vector<float> x(10), y(20);
  auto const line = [&](auto const& twin) {
    try {
      launch(here, twin(2), x, y);
    } catch (UserError const& error) {
      return error.where().line();
    }
    return 0U;
  };
  auto const start = jit::counters();
  for (int round = 0; round < 2; ++round) {
    CHECK(line(first) == first_line);
    CHECK(line(second) == first_line + 7);
    jit::clear_memory_cache();
  }
  CHECK(jit::counters().compilations == start.compilations + 1);
}

namespace {

/// Makes two kernels with one text, of which the second stands `lines_apart` lines below the first.
constexpr unsigned lines_apart = 8;
constexpr auto first_twin = [](float factor) {
  return kernel("placed_twin", [factor](in<int, 1> at, in<float, 1> x, out<float, 1> y) {
    auto g = grid_over(y, shape<64>);
    tile v = factor * gather(x, load(at, shape<64>, g[0]));
    store(y, shape<64>, exp(v) + sum(v, axis<0>), g[0]);
  });
};
constexpr unsigned line_of_gather = __LINE__ - 4;
constexpr auto second_twin = [](float factor) {
  return kernel("placed_twin", [factor](in<int, 1> at, in<float, 1> x, out<float, 1> y) {
    auto g = grid_over(y, shape<64>);
    tile v = factor * gather(x, load(at, shape<64>, g[0]));
    store(y, shape<64>, exp(v) + sum(v, axis<0>), g[0]);
  });
};

constexpr auto asserting_twin = [](bool second) {
  auto const first_of_two = kernel("asserting_twin", [](in<int, 1> at, in<float, 1> x, out<float, 1> y) {
    device_assert(at.extent(0) == 0, "never");
    store(y, shape<64>, load(x, shape<64>, grid_over(y, shape<64>)[0]), 0);
  });
  auto const second_of_two = kernel("asserting_twin", [](in<int, 1> at, in<float, 1> x, out<float, 1> y) {
    device_assert(at.extent(0) == 0, "never");
    store(y, shape<64>, load(x, shape<64>, grid_over(y, shape<64>)[0]), 0);
  });
  std::vector<int> at(64, 99);
  std::vector<float> x(64), y(64);
  try {
    second ? launch(here, second_of_two, at, x, y) : launch(here, first_of_two, at, x, y);
  } catch (UserError const& error) {
    return error.where().line();
  }
  return 0U;
};
constexpr unsigned line_of_assert = __LINE__ - 16;

/// Returns the line that a checked launch names.
unsigned checked_line(auto const& twin) {
  std::vector<int> at(64, 99);
  std::vector<float> x(64), y(64);
  try {
    launch(here, twin(2), at, x, y);
  } catch (UserError const& error) {
    return error.where().line();
  }
  return 0;
}

}  // namespace

TEST_CASE("equal kernels in two places have code of their own where it names source lines") {
  FreshCaches const fresh;
  support::Options options = support::options();
  options.check_bounds = true;
  support::ScopedOptions const checked(options);
  for (int round = 0; round < 2; ++round) {  // from the compiler, then from disk
    CHECK(checked_line(first_twin) == line_of_gather);
    CHECK(checked_line(second_twin) == line_of_gather + lines_apart);
    CHECK(asserting_twin(false) == line_of_assert);
    CHECK(asserting_twin(true) == line_of_assert + 4);
    jit::clear_memory_cache();
  }
}

TEST_CASE("the key of a kernel names source lines only where its code does") {
  auto const keys_differ = [](CompileOptions const& options) {
    auto const first = first_twin(2);
    auto const second = second_twin(2);
    return jit::key_of(*jit::traced(jit::reference(first)), options) !=
           jit::key_of(*jit::traced(jit::reference(second)), options);
  };
  CompileOptions options;
  options.target = Target::cuda;
  options.architecture = "sm_90a";
  CHECK_FALSE(keys_differ(options));
  options.profile.user = true;
  CHECK_FALSE(keys_differ(options));
  options.profile.compiler = true;
  CHECK(keys_differ(options));
  options.profile = {};
  options.lines = true;
  CHECK(keys_differ(options));
  options.lines = false;
  for (bool Checks::*const check : {&Checks::bounds, &Checks::overflow, &Checks::nan}) {
    options.checks = {};
    options.checks.*check = true;
    CHECK(keys_differ(options));
  }
}

TEST_CASE("a failing kernel fails the same way cold, warm and from disk", "[F40]") {
  FreshCaches const fresh;
  Sums s(100);
  std::vector<float> shorter(99);
  auto const fail = [&] { launch(here, vadd, shorter, s.b, s.c); };
  std::string const cold = message_of(fail);
  CHECK_THAT(cold, ContainsSubstring("differ in length"));
  CHECK(message_of(fail) == cold);
  jit::clear_memory_cache();
  CHECK(message_of(fail) == cold);
  launch(here, vadd, s.a, s.b, s.c);
  CHECK(message_of(fail) == cold);
  CHECK(s.right());

  // A kernel that does not trace: the same error each time, on every thread, and no entry.
  {
    constexpr auto bad =
        kernel("bad", [](in<float, 1> x, out<float, 1> y) { store(y, shape<64>, load(x, shape<64>, 0), 0); });
    auto const trace_failure = [&] { launch(here, bad, s.a, s.c); };
    std::string const first = message_of(trace_failure);
    CHECK_THAT(first, ContainsSubstring("grid"));
    CHECK(message_of(trace_failure) == first);
    jit::clear_memory_cache();
    CHECK(message_of(trace_failure) == first);
  }
}

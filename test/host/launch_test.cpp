// From the typed launcher to results on the host: arguments, caches, captures, errors.
#include "launch_support.hpp"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <fstream>
#include <numeric>
#include <random>
#include <sstream>
#include <thread>

#include "jit/build.hpp"
#include "jit/kernel_memo.hpp"
#include "jit/launch_options.hpp"
#include "runtime/cache/cache_folder.hpp"
#include "runtime/cache/disk_cache.hpp"
#include "support/catch.hpp"
#include "support/diagnostics.hpp"
#include "support/key_text.hpp"
#include "support/sanitized.hpp"
#include "tegula/tegula.hpp"

using namespace tegula;
using tegula::test::ContainsSubstring;
using tegula::test::FreshCaches;

namespace {

inline constexpr auto vadd = kernel("vadd", [](in<float, 1> a, in<float, 1> b, out<float, 1> c) {
  require(a.extent(0) == c.extent(0), "vadd: a and c differ in length");
  require(b.extent(0) == c.extent(0), "vadd: b and c differ in length");
  auto g = grid_over(c, shape<256>);
  store(c, shape<256>, load(a, shape<256>, g[0]) + load(b, shape<256>, g[0]), g[0]);
});
constexpr unsigned vadd_require_line = __LINE__ - 5;

inline constexpr auto axpy =
    kernel("axpy", [](arg<float> factor, in<float, 2> x, inout<float, 2> y, arg<std::int32_t> add) {
      auto g = grid_over(y, shape<4, 32>);
      tile t = factor * load(x, shape<4, 32>, g[0], g[1]) + load(y, shape<4, 32>, g[0], g[1]);
      store(y, shape<4, 32>, t + cast<float>(add), g[0], g[1]);
    });

/// A kernel with captures.
constexpr auto scaled(float factor) {
  return kernel("scaled", [factor](in<float, 1> x, out<float, 1> y) {
    auto g = grid_over(y, shape<128>);
    store(y, shape<128>, factor * load(x, shape<128>, g[0]), g[0]);
  });
}

struct Pair {
  in<float, 1> from;
  out<float, 1> to;
};
inline constexpr auto copy_pair = kernel("copy_pair", [](Pair p) {
  auto g = grid_over(p.to, shape<64>);
  store(p.to, shape<64>, load(p.from, shape<64>, g[0]), g[0]);
});

struct Sums {
  std::vector<float> a, b, c;
  explicit Sums(std::size_t n) : a(n), b(n), c(n, -1) {
    std::iota(a.begin(), a.end(), 0.0f);
    std::iota(b.begin(), b.end(), 1000.0f);
  }
  [[nodiscard]] bool right() const {
    for (std::size_t i = 0; i < a.size(); ++i)
      if (c[i] != a[i] + b[i]) return false;
    return true;
  }
};

std::string message_of(auto&& action) {
  try {
    action();
  } catch (Error const& error) {
    return error.what();
  }
  return "no error";
}

stream const here(device::host());

}  // namespace

TEST_CASE("vectors, buffers and strided views of one kernel give the same sums") {
  FreshCaches const fresh(support::CacheMode::off);
  Sums s(1000);
  launch(here, vadd, s.a, s.b, s.c);
  CHECK(s.right());
  buffer a(device::host(), s.a);
  buffer b(device::host(), s.b);
  buffer<float> c(device::host(), 1000);
  launch(host_stream(), vadd, a, b, c);
  c.copy_to(s.c);
  CHECK(s.right());
  std::vector<float> wide(3000, -5);
  launch(here, vadd, a, s.b, view(wide).slice(0, 1, 3000, 3));
  CHECK(wide[1 + 3 * 999] == 999 + 1999);
  CHECK(wide[0] == -5);
  CHECK(wide[2 + 3 * 999] == -5);
  for (std::size_t n : {0, 1, 255, 256, 257}) {
    Sums small(n);
    launch(here, vadd, small.a, small.b, small.c);
    CHECK(small.right());
  }
}

TEST_CASE("scalars are converted, structs of parameters are flat, a grid in the launch replaces the kernel's") {
  FreshCaches const fresh(support::CacheMode::off);
  std::vector<float> x(7 * 50, 2), y(7 * 50, 1);
  launch(here, axpy, 3, view(x.data(), 7, 50), view(y.data(), 7, 50), std::int64_t{4});
  CHECK(y[7 * 50 - 1] == 3 * 2 + 1 + 4);
  CHECK_THROWS_WITH(launch(here, axpy, 3.0, view(x.data(), 7, 50), view(y.data(), 7, 50), std::int64_t{1} << 40),
                    ContainsSubstring("axpy: argument 4: 1099511627776 does not fit i32"));
  std::fill(y.begin(), y.end(), 0.0f);
  launch(here, axpy, grid(1, 2), 1, view(x.data(), 7, 50), view(y.data(), 7, 50), 0);
  CHECK(y[3 * 50 + 49] == 2);  // the first row of tiles only
  CHECK(y[4 * 50] == 0);
  std::vector<float> from(100, 3), to(100);
  launch(here, copy_pair, from, to);
  CHECK(to == from);
}

TEST_CASE("a prepared launch reads the current contents of its arrays and outlives the caches") {
  FreshCaches const fresh(support::CacheMode::off);
  Sums s(300);
  prepared const go = prepare(vadd, s.a, s.b, s.c);
  jit::clear_memory_cache();
  go(here);
  CHECK(s.right());
  s.a[299] = 77;
  go(here);
  CHECK(s.right());
  auto const before = jit::counters();
  for (int i = 0; i < 100; ++i) go(here);
  CHECK(jit::counters().traces == before.traces);
  CHECK(jit::counters().compilations == before.compilations);
}

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

TEST_CASE("concurrent first launches compile once and all are right", "[F20]") {
  FreshCaches const fresh;
  for (int round = 0; round < 3; ++round) {
    jit::clear_memory_cache();
    if (round < 2) std::filesystem::remove_all(fresh.folder());
    auto const start = jit::counters();
    std::vector<Sums> sums(6, Sums(1000));
    std::vector<std::thread> threads;
    for (Sums& s : sums) threads.emplace_back([&s] { launch(stream(device::host()), vadd, s.a, s.b, s.c); });
    for (std::thread& thread : threads) thread.join();
    for (Sums const& s : sums) CHECK(s.right());
    CHECK(jit::counters().compilations == start.compilations + (round < 2 ? 1 : 0));
    // The lambda runs without a lock, so threads that come at once may each trace.
    CHECK(jit::counters().traces > start.traces);
    CHECK(jit::counters().traces <= start.traces + 6);
  }
}

namespace {

std::vector<float> ones(8, 1), of_inner(8);
std::atomic<int> launches_left = 0;
void launch_inner();

inline constexpr auto recursive = kernel("recursive", [](in<float, 1> x, out<float, 1> y) {
  auto g = grid_over(y, shape<8>);
  if (launches_left-- > 0) launch_inner();
  store(y, shape<8>, load(x, shape<8>, g[0]) * 2.F, g[0]);
});
void launch_inner() { launch(host_stream(), recursive, ones, of_inner); }

/// Launches the other kernel while it is traced, for as long as there are launches left.
void launch_pong();
inline constexpr auto ping = kernel("ping", [](in<float, 1> x, out<float, 1> y) {
  auto g = grid_over(y, shape<8>);
  if (launches_left-- > 0) launch_pong();
  store(y, shape<8>, load(x, shape<8>, g[0]) * 3.F, g[0]);
});
inline constexpr auto pong = kernel("pong", [](in<float, 1> x, out<float, 1> y) {
  auto g = grid_over(y, shape<8>);
  if (launches_left-- > 0) launch(host_stream(), ping, ones, of_inner);
  store(y, shape<8>, load(x, shape<8>, g[0]) * 4.F, g[0]);
});
void launch_pong() { launch(host_stream(), pong, ones, of_inner); }

/// Waits, while it is traced, for a thread that launches the same kernel.
std::atomic<int> threads_left = 0;
void launch_in_a_thread();
std::vector<float> of_thread(8);
inline constexpr auto waits = kernel("waits", [](in<float, 1> x, out<float, 1> y) {
  auto g = grid_over(y, shape<8>);
  if (threads_left-- > 0) launch_in_a_thread();
  store(y, shape<8>, load(x, shape<8>, g[0]) * 5.F, g[0]);
});
void launch_in_a_thread() {
  std::thread([] { launch(host_stream(), waits, ones, of_thread); }).join();
}

}  // namespace

TEST_CASE("a kernel that launches itself while it is traced is refused on every executor", "[F20]") {
  FreshCaches const fresh(support::CacheMode::off);
  std::vector<float> y(8);
  auto const refusal = ContainsSubstring("kernel 'recursive' launches itself while it is traced");
  for (int const depth : {1, 1000000}) {
    launches_left = depth;
    CHECK_THROWS_WITH(launch(host_stream(), recursive, ones, y), refusal);
    launches_left = depth;
    CHECK_THROWS_WITH(simulate(recursive, ones, y), refusal);
    launches_left = depth;
    CHECK_THROWS_WITH(debug(recursive, ones, y), refusal);
    launches_left = depth + 1;
    CHECK_THROWS_WITH(launch(host_stream(), ping, ones, y), ContainsSubstring("kernel 'ping' launches itself"));
  }
  launches_left = 0;
  launch(host_stream(), recursive, ones, y);
  CHECK(y[7] == 2);
  launch(host_stream(), ping, ones, y);
  CHECK(y[7] == 3);
  // One with captures is another kernel at each call, so the chain has an end that does not depend on memory.
  struct Chain {
    static void link(int n) {
      std::vector<float> results(8);
      auto const next = kernel("next", [n](in<float, 1> x, out<float, 1> z) {
        auto g = grid_over(z, shape<8>);
        if (n > 0) link(n - 1);
        store(z, shape<8>, load(x, shape<8>, g[0]) * 6.F, g[0]);
      });
      launch(host_stream(), next, ones, results);
      if (results[7] != 6) throw std::runtime_error("wrong");
    }
  };
  CHECK_NOTHROW(Chain::link(8));
  CHECK_THROWS_WITH(Chain::link(1000000), ContainsSubstring("is launched by 32 lambdas"));
}

TEST_CASE("a kernel that waits, while it is traced, for a thread that launches it does not hang", "[F20]") {
  FreshCaches const fresh(support::CacheMode::off);
  std::vector<float> y(8);
  threads_left = 1;
  launch(host_stream(), waits, ones, y);
  CHECK(y[7] == 5);
  CHECK(of_thread[7] == 5);
  // Two kernels that launch each other from two threads.
  launches_left = 2;
  std::vector<std::thread> threads;
  std::atomic<int> ended = 0;
  for (int t = 0; t < 2; ++t)
    threads.emplace_back([&ended, t] {
      std::vector<float> own(8);
      try {
        if (t == 0)
          launch(host_stream(), ping, ones, own);
        else
          launch(host_stream(), pong, ones, own);
        if (own[7] == 3 + static_cast<float>(t)) ++ended;
      } catch (UserError const&) {
        ++ended;
      }
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(ended == 2);
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

namespace {
inline constexpr auto gemm = kernel("gemm", [](in<float, 2> a, in<float, 2> b, out<float, 2> c) {
  auto g = grid_over(c, shape<64, 64>);
  tile sum = loop(ceil_div(a.extent(1), 32), zeros<float>(shape<64, 64>), [&](auto k, auto s) {
    return dot(load(a, shape<64, 32>, g[0], k), load(b, shape<32, 64>, k, g[1]), s);
  });
  store(c, shape<64, 64>, sum, g[0], g[1]);
});
}  // namespace

TEST_CASE("two threads run one prepared launch at once, and each finds its results") {
  FreshCaches const fresh(support::CacheMode::off);
  constexpr int rounds = 100;
  constexpr std::int64_t extent = 150;
  Sums s(20000);
  buffer<float, 2> a(device::host(), extent, extent), b(device::host(), extent, extent),
      c(device::host(), extent, extent);
  a.fill(2), b.fill(3);
  support::Options const given = support::options();
  for (bool const simulated : {false, true}) {
    // Both threads write the same values to the same places, which ThreadSanitizer sees in the simulator's code.
    if (simulated && test::thread_sanitized) continue;
    support::Options options = given;
    options.simulate = simulated;
    support::ScopedOptions const scope(options);
    prepared const sums = prepare(vadd, s.a, s.b, s.c), products = prepare(gemm, a, b, c);
    std::atomic<int> wrong = 0;
    auto const poison = [&] {
      std::fill(s.c.begin(), s.c.end(), -1.0f);
      c.fill(-1);
    };
    auto const check = [&] {
      wrong += s.right() ? 0 : 1;
      auto const found = c.on_host();
      for (std::int64_t i = 0; i < extent; ++i)
        for (std::int64_t j = 0; j < extent; ++j) wrong += found(i, j) == 6 * extent ? 0 : 1;
    };
    bool begins = false;
    std::barrier meet(2, [&]() noexcept { (begins = !begins) ? poison() : check(); });
    auto const work = [&] {
      for (int round = 0; round < (simulated ? 3 : rounds); ++round) {
        meet.arrive_and_wait();
        sums(here);
        products(here);
        meet.arrive_and_wait();
      }
    };
    std::thread other(work);
    work();
    other.join();
    CHECK(wrong == 0);
  }
}

TEST_CASE("child of the test with eight processes", "[.]") {
  Sums s(1000);
  launch(here, vadd, s.a, s.b, s.c);
  CHECK(s.right());
  launch(here, scaled(7), s.a, s.c);
  CHECK(s.c[10] == 70);
}

TEST_CASE("eight processes that compile into one cache leave whole entries and no partial file", "[F3][N11]") {
  FreshCaches const fresh;
  ::setenv("TEGULA_CACHE_DIR", fresh.folder().c_str(), 1);
  std::vector<pid_t> children;
  for (int i = 0; i < 8; ++i) children.push_back(test::start_self("child of the test with eight processes"));
  ::unsetenv("TEGULA_CACHE_DIR");
  for (pid_t const child : children) CHECK(test::exit_status(child) == 0);
  REQUIRE(fresh.files().size() == 2);
  for (auto const& file : fresh.files()) CHECK(runtime::read_cache_entry(file).has_value());
  // This process uses the entries that they left.
  auto const start = jit::counters();
  Sums s(1000);
  launch(here, vadd, s.a, s.b, s.c);
  CHECK(s.right());
  CHECK(jit::counters().compilations == start.compilations);
}

namespace {

bool is_running(pid_t child) {
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == 0;
}

}  // namespace

TEST_CASE("eight processes are right while files are torn, removed and evicted under them", "[N11]") {
  FreshCaches const fresh;
  ::setenv("TEGULA_CACHE_DIR", fresh.folder().c_str(), 1);
  ::setenv("TEGULA_CACHE_LIMIT", "12K", 1);  // about two entries
  ::setenv("TEGULA_QUIET", "1", 1);
  std::vector<pid_t> children;
  for (int i = 0; i < 8; ++i) children.push_back(test::start_self("child of the test with eight processes"));
  std::mt19937 random(5);
  for (pid_t const child : children) {
    while (is_running(child)) {
      for (auto const& path : fresh.files()) {
        std::error_code ignored;
        if (random() % 2 == 0)
          std::filesystem::resize_file(path, random() % 3000, ignored);
        else
          runtime::evict(fresh.folder(), random() % 12000);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    CHECK(test::exit_status(child) == 0);
  }
  ::unsetenv("TEGULA_CACHE_DIR");
  ::unsetenv("TEGULA_CACHE_LIMIT");
  ::unsetenv("TEGULA_QUIET");
}

TEST_CASE("an error that only values show is a user error before the kernel runs") {
  FreshCaches const fresh(support::CacheMode::off);
  Sums s(100);
  std::vector<float> shorter(99);
  try {
    launch(here, vadd, shorter, s.b, s.c);
    FAIL("accepted");
  } catch (UserError const& error) {
    CHECK_THAT(error.what(), ContainsSubstring("vadd: a and c differ in length; found 99") && ContainsSubstring("100"));
    CHECK(error.where().line() == vadd_require_line);
    CHECK_THAT(std::string(error.where().file()), ContainsSubstring("launch_test.cpp"));
  }
  CHECK(s.c[0] == -1);
  CHECK_THROWS_WITH(launch(here, vadd, s.a, s.c, s.c), ContainsSubstring("arguments 2 and 3 share memory"));
  CHECK_THROWS_WITH(prepare(vadd, s.a, s.c, s.c), ContainsSubstring("arguments 2 and 3 share memory"));
  CHECK_THROWS_WITH(launch(here, vadd, s.a, s.b, view<float, 1>(nullptr, 100)),
                    ContainsSubstring("argument 3: a null address"));
  buffer<float> freed(device::host(), 100);
  auto const go = prepare(vadd, s.a, s.b, freed);
  freed.free();
  CHECK_THROWS_AS(go(here), UserError);
  CHECK_THROWS_AS(launch(here, vadd, s.a, s.b, freed), UserError);
  CHECK_THROWS_WITH(launch(here, vadd, s.a, s.b, device_view<float, 1>(s.c.data(), 100)),
                    ContainsSubstring("CUDA device on a stream of the host"));
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

TEST_CASE("the facts of a parameter's type are checked") {
  FreshCaches const fresh(support::CacheMode::off);
  constexpr auto vouched = kernel("vouched", [](in<float, 1, multiple_of<16>> x, out<float, 1> y) {
    auto g = grid_over(y, shape<64>);
    store(y, shape<64>, load(x, shape<64>, g[0]), g[0]);
  });
  std::vector<float> x(80, 4), y(80);
  launch(here, vouched, x, y);
  CHECK(y[79] == 4);
  CHECK_THROWS_WITH(launch(here, vouched, view(x).slice(0, 0, 79), y),
                    ContainsSubstring("is not a multiple of 16, as multiple_of in its type promises"));
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

TEST_CASE("explain prints facts, grid, requirements and path") {
  FreshCaches const fresh;
  Sums s(1000);
  std::vector<float> wide(2000);
  std::string const text = explain(vadd, view(wide).slice(0, 0, 2000, 2), s.b, s.c);
  INFO(text);
  CHECK_THAT(text, ContainsSubstring("kernel vadd on host"));
  CHECK_THAT(text, ContainsSubstring("argument 1: in %in0 1000xf32 strides (2)"));
  CHECK_THAT(text, ContainsSubstring("facts used: unit_inner"));
  CHECK_THAT(text, ContainsSubstring("grid: 4 x 1 x 1 blocks"));
  CHECK_THAT(text, ContainsSubstring("requires: vadd: a and c differ in length"));
  CHECK_THAT(text, ContainsSubstring("compiled now"));
  CHECK_THAT(explain(vadd, view(wide).slice(0, 0, 2000, 2), s.b, s.c), ContainsSubstring("found in memory"));
  jit::clear_memory_cache();
  CHECK_THAT(explain(vadd, view(wide).slice(0, 0, 2000, 2), s.b, s.c), ContainsSubstring("loaded from the disk cache"));
}

TEST_CASE("the simulator gives the same values, and TEGULA_SIMULATE sends every launch through it") {
  FreshCaches const fresh(support::CacheMode::off);
  Sums s(300);
  simulation const result = simulate(vadd, s.a, s.b, s.c);
  CHECK(result.clean);
  CHECK(result.blocks == 2);
  CHECK(s.right());
  support::Options options = support::options();
  options.simulate = true;
  support::ScopedOptions const scope(options);
  std::fill(s.c.begin(), s.c.end(), 0.0f);
  auto const start = jit::counters();
  launch(here, vadd, s.a, s.b, s.c);
  CHECK(s.right());
  prepare(vadd, s.a, s.b, s.c)(here);
  CHECK(jit::counters().compilations == start.compilations);
  CHECK_THROWS_WITH(launch(here, vadd, s.a, s.c, s.c), ContainsSubstring("share memory"));
}

TEST_CASE("the kernel after the GPU passes is simulated warp by warp under any schedule", "[N1]") {
  FreshCaches const fresh(support::CacheMode::off);
  Sums s(300);
  for (schedule::order const& order : {schedule::seed(7), schedule::latest(), schedule::earliest(), schedule::starve(1),
                                       schedule::replay("choices:1,0,2")}) {
    std::fill(s.c.begin(), s.c.end(), 0.0f);
    simulation const result = simulate(vadd, s.a, s.b, s.c, order);
    INFO(order.text << "\n" << result.report);
    CHECK(result.clean);
    CHECK(result.blocks == 2);
    CHECK(s.right());
  }
  CHECK_THROWS_WITH(simulate(vadd, s.a, s.b, s.c, schedule::replay("seeds")), ContainsSubstring("seed:"));
  CHECK_THROWS_WITH(simulate(vadd, s.a, s.c, s.c, schedule::seed(1)), ContainsSubstring("share memory"));
  support::Options options = support::options();
  options.simulate = true;
  options.simulate_schedule = "latest:3";
  support::ScopedOptions const scope(options);
  std::fill(s.c.begin(), s.c.end(), 0.0f);
  auto const start = jit::counters();
  launch(here, vadd, s.a, s.b, s.c);
  CHECK(s.right());
  CHECK(jit::counters().compilations == start.compilations);
}

TEST_CASE("compile returns the plain data of a kernel") {
  CompiledKernel const compiled = compile(vadd);
  CHECK(compiled.name == "vadd");
  CHECK(compiled.image_kind == ImageKind::host_object);
  CHECK(compiled.parameters.size() == 3);
  CHECK(compiled.launch.requirements.size() == 2);
  CHECK_FALSE(compiled.phases.empty());
}

TEST_CASE("products of operands with any strides run on the host and as warps", "[N1]") {
  FreshCaches const fresh(support::CacheMode::off);
  auto const product = kernel("product", [](in<bf16, 2> a, in<bf16, 2> b, out<float, 2> c) {
    auto g = grid_over(c, shape<64, 64>);
    tile sum = loop(
        ceil_div(a.extent(1), 32), zeros<float>(shape<64, 64>),
        [&](auto k, auto s) { return dot(load(a, shape<64, 32>, g[0], k), load(b, shape<32, 64>, k, g[1]), s); },
        stages<2>);
    store(c, shape<64, 64>, sum, g[0], g[1]);
  });
  constexpr std::int64_t rows = 72, depth = 40, pitch = 128;
  alignas(16) static bf16 memory[rows * pitch];
  for (std::size_t i = 0; i < std::size(memory); ++i) memory[i] = bf16(static_cast<float>(i * 5 % 7) - 3.0f);
  std::vector<bf16> b(static_cast<std::size_t>(depth * rows));
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = bf16(static_cast<float>(i % 5) - 2.0f);
  view<bf16, 2> const operands[] = {view<bf16, 2>(memory, {rows, depth}, {pitch, 1}),
                                    view<bf16, 2>(memory, {rows, depth}, {pitch, 1}).slice(0, 0, rows, -1),
                                    view<bf16, 2>(memory, {rows, depth}, {0, 1}),
                                    view<bf16, 2>(memory, {rows, depth}, {8, 1}),
                                    view<bf16, 2>(memory, {rows, depth}, {pitch, 2}),
                                    view<bf16, 2>(memory + 1, {rows, depth}, {pitch - 1, 1})};
  for (auto const& a : operands) {
    std::vector<float> expected(static_cast<std::size_t>(rows * rows)), c(expected.size(), -1), d(expected.size(), -1);
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < rows; ++j)
        for (std::int64_t k = 0; k < depth; ++k)
          expected[static_cast<std::size_t>(i * rows + j)] +=
              static_cast<float>(a(i, k)) * static_cast<float>(b[static_cast<std::size_t>(k * rows + j)]);
    INFO("strides " << a.stride(0) << ", " << a.stride(1));
    launch(host_stream(), product, a, view(b.data(), depth, rows), view(c.data(), rows, rows));
    CHECK(c == expected);
    simulation const warps =
        simulate(product, a, view(b.data(), depth, rows), view(d.data(), rows, rows), schedule::seed(1));
    INFO(warps.report);
    CHECK(warps.clean);
    CHECK(d == expected);
  }
}

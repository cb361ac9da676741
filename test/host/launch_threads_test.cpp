// Tests launches from several threads and processes at once, and from lambdas while they are traced.
#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <random>
#include <thread>
#include <vector>

#include "launch_kernels.hpp"
#include "launch_support.hpp"
#include "runtime/cache/cache_folder.hpp"
#include "runtime/cache/disk_cache.hpp"
#include "support/catch.hpp"
#include "support/sanitized.hpp"
#include "tegula/tegula.hpp"

using namespace tegula;
using namespace tegula::test;

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

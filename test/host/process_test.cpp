// Tests launches where a process is not whole: in a child of fork(), and while static objects and threads end. Tests
// kernels whose library is unloaded, too.
#include <dlfcn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>

#include "launch_support.hpp"
#include "support/catch.hpp"
#include "support/sanitized.hpp"
#include "tegula/tegula.hpp"

using namespace tegula;
using tegula::test::FreshCaches;

namespace {

inline constexpr auto plus_one = kernel("plus_one", [](in<float, 1> x, out<float, 1> y) {
  auto at = grid_over(y, shape<64>);
  store(y, shape<64>, load(x, shape<64>, at[0]) + 1, at[0]);
});

/// Defines a kernel whose host code needs scratch memory.
inline constexpr auto shares = kernel("shares", [](in<float, 2> x, out<float, 2> y) {
  auto at = grid_over(y, shape<1, 512>);
  tile e = exp(load(x, shape<1, 512>, at[0], 0, pad(-inf)));
  store(y, shape<1, 512>, e / sum(e, axis<1>), at[0], 0);
});

inline constexpr auto minus_one = kernel("minus_one", [](in<float, 1> x, out<float, 1> y) {
  auto at = grid_over(y, shape<64>);
  store(y, shape<64>, load(x, shape<64>, at[0]) - 1, at[0]);
});

support::Options with_threads(int threads) {
  support::Options options = support::options();
  options.threads = threads;
  return options;
}

/// Launches with data of its own; true if the results are right.
struct Work {
  std::vector<float> x = std::vector<float>(4096, 3), y = std::vector<float>(4096);
  std::vector<float> rows = std::vector<float>(8 * 500, 1), out = std::vector<float>(8 * 500);
  bool run() {
    std::fill(y.begin(), y.end(), 0.0f);
    std::fill(out.begin(), out.end(), 0.0f);
    launch(host_stream(), plus_one, x, y);
    launch(host_stream(), shares, view(rows.data(), 8, 500), view(out.data(), 8, 500));
    for (float const value : y)
      if (value != 4) return false;
    for (float const value : out)
      if (value < 0.00199f || value > 0.00201f) return false;
    return true;
  }
};

/// Returns the bytes of memory that the process has.
std::int64_t resident() {
  std::ifstream stream("/proc/self/statm");
  std::int64_t pages = 0, in_memory = 0;
  stream >> pages >> in_memory;
  return in_memory * ::sysconf(_SC_PAGESIZE);
}

/// True in a child of fork(). It abandons its parent's caches, as other threads may have held their locks.
bool is_child = false;

/// Returns the exit status of `work` in a child of fork(), which leaves by exit() as a program does; 255 for a child
/// that dies.
template <class Function>
int in_child(Function const& work) {
  std::fflush(nullptr);
  pid_t const child = ::fork();
  if (child == 0) {
    is_child = true;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // a child that hangs ends with its parent, which CTest stops
    int status = 254;
    try {
      status = work();
    } catch (std::exception const& error) {
      std::fprintf(stderr, "child: %s\n", error.what());
    }
    std::exit(status);
  }
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child || !WIFEXITED(status)) return 255;
  return WEXITSTATUS(status);
}

}  // namespace

/// Tells LeakSanitizer not to look for leaks in such a child; called by it alone.
// NOLINTNEXTLINE(bugprone-reserved-identifier): the sanitizer's name
extern "C" [[gnu::visibility("default")]] int __lsan_is_turned_off();
int __lsan_is_turned_off() { return is_child ? 1 : 0; }

TEST_CASE("a forked child launches, keeps its memory and exits") {
  if (test::thread_sanitized) TEGULA_SKIP("ThreadSanitizer refuses threads in a child of fork()");
  FreshCaches const fresh;
  support::ScopedOptions const scope(with_threads(4));
  Work work;
  REQUIRE(work.run());  // the parent has helpers now
  prepared const go = prepare(plus_one, work.x, work.y);
  CHECK(in_child([&] { return work.run() ? 0 : 1; }) == 0);
  CHECK(in_child([&] {
          for (int i = 0; i < 1000; ++i) go(host_stream());
          std::int64_t const before = resident();
          for (int i = 0; i < 80000; ++i) go(host_stream());
          // Where Linux gives huge pages to every program, the first byte of one counts as 2 MiB.
          return resident() - before < 8'000'000 ? 0 : 1;
        }) == 0);
  // Other threads launch at the moment of fork(). Sanitizers of GCC 12 do not release their locks in such a child, so
  // that a thread there waits forever.
  if (test::sanitized) return;
  std::atomic<bool> stop = false;
  std::vector<std::thread> others;
  for (int i = 0; i < 2; ++i)
    others.emplace_back([&] {
      Work own;
      while (!stop) own.run();
    });
  int bad = 0;
  for (int i = 0; i < 4; ++i)
    bad += in_child([&] {
      Work own;
      // exit() ends objects of threads that the child does not have.
      ::_exit(own.run() ? 0 : 1);
      return 0;
    });
  stop = true;
  for (std::thread& other : others) other.join();
  CHECK(bad == 0);
  CHECK(work.run());
}

namespace {

/// Makes a kernel that is traced at each launch; each factor is another text to compile.
auto times(int factor) {
  return kernel("times", [factor](in<float, 1> x, out<float, 1> y) {
    auto at = grid_over(y, shape<8>);
    require(x.extent(0) == y.extent(0), "equal extents");
    store(y, shape<8>, load(x, shape<8>, at[0]) * static_cast<float>(factor), at[0]);
  });
}

inline constexpr auto product = kernel("product", [](in<bf16, 2> a, in<bf16, 2> b, out<float, 2> c) {
  auto g = grid_over(c, shape<64, 64>);
  tile sum = loop(ceil_div(a.extent(1), 32), zeros<float>(shape<64, 64>), [&](auto k, auto s) {
    return dot(load(a, shape<64, 32>, g[0], k), load(b, shape<32, 64>, k, g[1]), s);
  });
  store(c, shape<64, 64>, sum, g[0], g[1]);
});

bool launches_times(int factor) {
  std::vector<float> x(8, 1), y(8);
  launch(host_stream(), times(factor), x, y);
  return y[7] == static_cast<float>(factor);
}

/// Compiles for a GPU: passes, layouts and code generation.
bool compiles_product(int unroll) {
  CompileOptions options;
  options.target = Target::cuda;
  options.architecture = "sm_90a";
  options.facts = {{true, true}, {true, true}, {true, true}};
  options.unroll = unroll;
  return !compile(product, options).image.empty();
}

/// Lets threads work while children of fork() do; counts the children that fail or hang.
template <class Work, class Child>
int failed_children(int children, std::vector<Work> const& works, Child const& child) {
  std::atomic<bool> stop = false;
  std::vector<std::thread> others;
  for (Work const& work : works)
    others.emplace_back([&] {
      for (int round = 2; !stop; ++round) work(round);
    });
  int bad = 0;
  for (int i = 0; i < children && bad == 0; ++i)
    bad += in_child([&] {
      ::alarm(600);               // catches a hang; a slow machine needs seconds
      ::_exit(child(i) ? 0 : 1);  // exit() ends objects of threads that the child does not have
      return 0;
    });
  stop = true;
  for (std::thread& other : others) other.join();
  return bad;
}

}  // namespace

TEST_CASE("children that are forked while other threads trace can trace", "[F20]") {
  if (test::sanitized) TEGULA_SKIP("sanitizers keep locks of their own in a child of fork()");
  FreshCaches const fresh(support::CacheMode::off);
  auto const trace = [](int round) { (void)times(round % 7).trace(); };
  CHECK(failed_children(300, std::vector{trace, trace}, [&](int i) {
          trace(i);
          return times(2).trace().text().find("times") != std::string::npos;
        }) == 0);
}

TEST_CASE("children that are forked while other threads compile and launch can do so", "[F20]") {
  if (test::sanitized) TEGULA_SKIP("sanitizers keep locks of their own in a child of fork()");
  FreshCaches const fresh;
  support::ScopedOptions const scope(with_threads(3));
  using Action = void (*)(int round);
  std::vector<Action> const works = {[](int round) { (void)launches_times(round); },
                                     [](int round) { (void)compiles_product(1 + round % 4); },
                                     [](int) {
                                       Work own;
                                       own.run();
                                     },
                                     [](int) {
                                       std::vector<float> x(8, 1), y(8);
                                       (void)simulate(times(3), x, y);
                                     }};
  CHECK(failed_children(12, works, [](int i) {
          Work own;
          std::vector<float> x(8, 1), y(8);
          return launches_times(-1 - i) && own.run() && compiles_product(1 + i % 4) && simulate(times(3), x, y).clean;
        }) == 0);
}

namespace {

/// Launches in its destructor and writes to a file whether that succeeded.
struct AtExit {
  std::string file;
  Work work;
  std::optional<prepared> go;
  stream order{device::host()};
  buffer<float> kept{device::host(), 100};
  ~AtExit() {
    bool right = true;
    for (int i = 0; i < 50; ++i) right = work.run() && right;
    bool refused = false;
    try {
      launch(host_stream(), minus_one, work.x, work.y);  // not compiled yet
    } catch (UserError const& error) {
      refused = std::string_view(error.what()).find("the process is ending") != std::string_view::npos;
    }
    right = right && refused;
    (*go)(order);
    right = right && work.y[100] == 4;
    kept.fill(2);
    std::ofstream(file) << (right ? "right" : "wrong");
  }
};

struct AtThreadEnd {
  bool* right = nullptr;
  ~AtThreadEnd() {
    Work work;
    *right = work.run() && work.run();
  }
};

}  // namespace

TEST_CASE("child of the test with launches at exit", "[.]") {
  char const* const file = std::getenv("TEGULA_TEST_RESULT");
  REQUIRE(file != nullptr);
  static AtExit at_exit;  // made before anything of the launcher, so destroyed after it
  at_exit.file = file;
  at_exit.go.emplace(prepare(plus_one, at_exit.work.x, at_exit.work.y));
  CHECK(at_exit.work.run());
}

TEST_CASE("destructors of static objects launch compiled kernels and refuse the rest") {
  FreshCaches const fresh(support::CacheMode::off);
  std::string const file = fresh.folder() + "-result";
  ::setenv("TEGULA_TEST_RESULT", file.c_str(), 1);
  ::setenv("TEGULA_THREADS", "4", 1);
  int const status = test::run_self("child of the test with launches at exit");
  ::unsetenv("TEGULA_THREADS");
  ::unsetenv("TEGULA_TEST_RESULT");
  CHECK(status == 0);
  std::string said;
  std::ifstream(file) >> said;
  CHECK(said == "right");
}

TEST_CASE("destructors of a thread's objects launch after its scratch memory is gone") {
  FreshCaches const fresh(support::CacheMode::off);
  REQUIRE(compile(shares).scratch_bytes > 0);
  for (int i = 0; i < 8; ++i) {
    bool right = false, right_before = false;
    std::thread([&] {
      thread_local AtThreadEnd at_end;
      at_end.right = &right;
      Work work;
      right_before = work.run();
    }).join();
    CHECK(right_before);
    CHECK(right);
  }
}

namespace {

trace::TracedKernel record_scaled(float factor) {
  return kernel("scaled",
                [factor](in<float, 1> x, out<float, 1> y) {
                  auto at = grid_over(y, shape<64>);
                  store(y, shape<64>, load(x, shape<64>, at[0]) * factor, at[0]);
                })
      .trace();
}

}  // namespace

TEST_CASE("a library at the address of an unloaded one runs its own kernel") {
  FreshCaches const fresh(support::CacheMode::off);
  std::vector<float> const x(100, 1);
  std::vector<float> y(100);
  Argument const arguments[] = {call::make_argument<in<float, 1>>("scaled", 1, x),
                                call::make_argument<out<float, 1>>("scaled", 2, y)};
  std::vector<void const*> identities;
  for (auto const& [file, factor] :
       {std::pair{TEGULA_PLUGIN_A, 3.0f}, {TEGULA_PLUGIN_B, 5.0f}, {TEGULA_PLUGIN_A, 3.0f}}) {
    if (!std::filesystem::exists(file)) TEGULA_SKIP("the libraries were built on another machine");
    void* const library = ::dlopen(file, RTLD_NOW | RTLD_LOCAL);
    INFO((library == nullptr ? ::dlerror() : ""));
    REQUIRE(library != nullptr);
    auto const describe =
        reinterpret_cast<void (*)(jit::KernelRef&, trace::TracedKernel(*)(float))>(::dlsym(library, "plugin_kernel"));
    REQUIRE(describe != nullptr);
    jit::KernelRef kernel;
    describe(kernel, record_scaled);
    identities.push_back(kernel.identity);
    for (int round = 0; round < 2; ++round) {
      jit::launch(host_stream(), kernel, {arguments, 2}, {});
      CHECK(y[99] == factor);
    }
    ::dlclose(library);
    CHECK(::dlopen(file, RTLD_NOW | RTLD_NOLOAD) == nullptr);
  }
  if (identities[0] != identities[1]) TEGULA_SKIP("the two libraries were mapped at different addresses");
}

TEST_CASE("four failures", "[.]") {
  for (int i = 0; i < 4; ++i) CHECK(i < 0);
}

TEST_CASE("a test with any number of failures counts as failed, not as skipped") {
  CHECK(tegula::test::run_self("four failures") == 1);
}

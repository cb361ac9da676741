// Tests the cost of a launch besides its work, by counts that are the same on every machine; `./dev bench
// device_launch_cost` measures the time. A prepared one does not allocate, lock, hash or look anything up; a typed one
// with the arguments of an earlier one does not allocate.
#include <algorithm>
#include <functional>
#include <mutex>
#include <string>

#include "jit/kernel_cache.hpp"
#include "support/catch.hpp"
#include "support/count_allocations.hpp"
#include "support/count_locks.hpp"
#include "support/options.hpp"
#include "tegula/tegula.hpp"

using namespace tegula;
using test::allocations_of_thread;
using test::ContainsSubstring;

namespace {

inline constexpr auto scaled = kernel("scaled", [](in<float, 2> x, arg<float> factor, out<float, 2> y) {
  auto g = grid_over(y, shape<4, 16>);
  store(y, shape<4, 16>, load(x, shape<4, 16>, g[0], g[1]) * factor, g[0], g[1]);
});

struct Tensors {
  buffer<float, 2> x{device::host(), 32, 32}, y{device::host(), 32, 32};
  Tensors() { x.fill(3); }
  [[nodiscard]] float found() const { return y.data()[77]; }
};

/// Counts the allocations of this thread in the best of several runs. A helper that another program keeps from waking
/// up between two launches costs one.
template <class Run>
std::int64_t min_allocations(Run const& run) {
  std::int64_t least = -1;
  for (int attempt = 0; attempt < 50 && least != 0; ++attempt) {
    std::int64_t const before = allocations_of_thread();
    run();
    std::int64_t const here = allocations_of_thread() - before;
    least = least < 0 ? here : std::min(least, here);
  }
  return least;
}

}  // namespace

TEST_CASE("a prepared launch does not allocate, trace or compile", "[N13]") {
  Tensors on;
  prepared const go = prepare(scaled, on.x, 2.F, on.y);
  for (int i = 0; i < 8; ++i) go(host_stream());  // threads and scratch memory come up
  jit::Counters const before = jit::counters();
  std::int64_t const allocated = allocations_of_thread();
  CHECK(min_allocations([&] {
          for (int i = 0; i < 100; ++i) go(host_stream());
        }) == 0);
  CHECK(jit::counters().traces == before.traces);
  CHECK(jit::counters().compilations == before.compilations);
  CHECK(on.found() == 6);
  std::vector<int> const counted(1);  // the counter counts
  CHECK(allocations_of_thread() > allocated);
}

TEST_CASE("a prepared launch on one thread does not lock or hash, one with equal arguments little", "[N13]") {
  if constexpr (!test::counts_locks) TEGULA_SKIP("sanitizers count no locks");
  support::Options options = support::options();
  options.threads = 1;  // a pool of several wakes up under its own lock
  support::ScopedOptions const scope(options);
  Tensors on;
  prepared const go = prepare(scaled, on.x, 2.F, on.y);
  auto const launch_all = [&] { launch(host_stream(), scaled, on.x, 2.F, on.y); };
  for (int i = 0; i < 65; ++i) go(host_stream()), launch_all();  // after the trace of launch 64
  std::int64_t const locks = test::locks_of_thread(), hashes = test::hashes_of_thread();
  for (int i = 0; i < 10; ++i) go(host_stream());
  CHECK(test::locks_of_thread() - locks == 0);
  CHECK(test::hashes_of_thread() - hashes == 0);
  for (int i = 0; i < 10; ++i) launch_all();
  CHECK(test::locks_of_thread() - locks == 20);  // the kernel's memo, and its recent launches
  CHECK(test::hashes_of_thread() - hashes == 0);
  std::mutex mutex;  // the counters count
  { std::lock_guard const lock(mutex); }
  CHECK(test::locks_of_thread() - locks == 21);
  (void)std::hash<std::string>()("text");
  CHECK(test::hashes_of_thread() - hashes == 1);
}

TEST_CASE("a launch with the arguments of an earlier one does not allocate") {
  Tensors on, other;
  auto const launch_all = [&] {
    launch(host_stream(), scaled, on.x, 2.F, on.y);
    launch(host_stream(), scaled, on.x, 3.F, other.y);
  };
  for (int i = 0; i < 33; ++i) launch_all();  // after the trace of launch 64
  CHECK(min_allocations([&] {
          for (int i = 0; i < 10; ++i) launch_all();
        }) == 0);
  CHECK(on.found() == 6);
  CHECK(other.found() == 9);
}

TEST_CASE("a launch does not take the record of an earlier one for other arguments") {
  Tensors on;
  for (int i = 1; i < 20; ++i) {
    launch(host_stream(), scaled, on.x, static_cast<float>(i), on.y);
    CHECK(on.found() == 3 * static_cast<float>(i));
    float own[4] = {1, 2, 3, 4}, result[4] = {};
    view const mine(own, 2, 2), to(result, 2, 2);
    launch(host_stream(), scaled, mine, static_cast<float>(i), to);
    CHECK(result[3] == 4 * static_cast<float>(i));
    launch(host_stream(), scaled, view(own, 1, 4), 0.5F, view(result, 1, 4));
    CHECK(result[1] == 1);
  }
  for (int i = 0; i < 6; ++i) {  // memory that is freed and taken again, at the same address or not
    Tensors fresh;
    launch(host_stream(), scaled, fresh.x, 2.F, fresh.y);
    CHECK(fresh.found() == 6);
    fresh.x.free();
    CHECK_THROWS_WITH(launch(host_stream(), scaled, fresh.x, 2.F, fresh.y), ContainsSubstring("freed"));
  }
}

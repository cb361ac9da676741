// Tests that every block runs once, from any number of callers; exceptions; memory of launches. Runs under the thread
// sanitizer too.
#include <atomic>
#include <cstring>
#include <stdexcept>
#include <thread>
#include <vector>

#include "runtime/host/run.hpp"
#include "runtime/host/thread_pool.hpp"
#include "runtime/host/workspace.hpp"
#include "support/catch.hpp"
#include "support/options.hpp"

using namespace tegula;
using namespace tegula::runtime;

namespace {

support::Options with_threads(int threads) {
  support::Options options = support::options();
  options.threads = threads;
  return options;
}

}  // namespace

TEST_CASE("parallel_for covers every block once for any number of threads") {
  for (int threads : {1, 2, 3, 4, 9}) {
    support::ScopedOptions const scope(with_threads(threads));
    for (std::int64_t total : {0, 1, 2, 3, 7, 64, 1000, 10007}) {
      std::vector<std::atomic<int>> seen(static_cast<std::size_t>(total));
      host::parallel_for(total, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t i = first; i < last; ++i) ++seen[static_cast<std::size_t>(i)];
      });
      bool once = true;
      for (auto const& count : seen) once = once && count == 1;
      INFO("threads " << threads << " total " << total);
      REQUIRE(once);
    }
  }
}

TEST_CASE("parallel_for may be nested and called from several threads at once", "[F20]") {
  support::ScopedOptions const scope(with_threads(4));
  std::atomic<std::int64_t> sum = 0;
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller)
    callers.emplace_back([&] {
      for (int round = 0; round < 50; ++round)
        host::parallel_for(20, [&](std::int64_t first, std::int64_t last) {
          for (std::int64_t i = first; i < last; ++i)
            host::parallel_for(10, [&](std::int64_t a, std::int64_t b) { sum += b - a; });
        });
    });
  for (std::thread& caller : callers) caller.join();
  CHECK(sum == 4 * 50 * 20 * 10);
}

TEST_CASE("parallel_for passes an exception on and the pool keeps working") {
  support::ScopedOptions const scope(with_threads(3));
  for (int round = 0; round < 20; ++round) {
    std::atomic<int> ran = 0;
    auto const body = [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i) {
        if (i == 37) throw std::runtime_error("block 37");
        ++ran;
      }
    };
    CHECK_THROWS_WITH(host::parallel_for(1000, body), "block 37");
    CHECK(ran < 1000);
  }
  std::atomic<std::int64_t> sum = 0;
  host::parallel_for(100, [&](std::int64_t first, std::int64_t last) { sum += last - first; });
  CHECK(sum == 100);
}

TEST_CASE("workspace and scratch are aligned, reused and disjoint") {
  void* first = nullptr;
  {
    host::Workspace const a(1000);
    host::Workspace const b(1000);
    first = a.get();
    CHECK(a.get() != b.get());
    CHECK(reinterpret_cast<std::uintptr_t>(a.get()) % 64 == 0);
    std::memset(a.get(), 1, 1000);
    std::memset(b.get(), 2, 1000);
    CHECK(static_cast<char const*>(a.get())[999] == 1);
  }
  host::Workspace const again(900);
  host::Workspace const more(900);
  CHECK((again.get() == first || more.get() == first));
  CHECK(host::Workspace(0).get() == nullptr);
  void* const scratch = host::Scratch(500).get();
  CHECK(reinterpret_cast<std::uintptr_t>(scratch) % 64 == 0);
  CHECK(host::Scratch(400).get() == scratch);
  void* other = scratch;
  std::thread([&] { other = host::Scratch(400).get(); }).join();
  CHECK(host::Scratch(0).get() == nullptr);
}

namespace {

// Phase 0 writes block numbers into the workspace, phase 1 sums all of them: right only if phases are in order.
void write_phase(std::int64_t const*, std::int64_t first, std::int64_t last, void* workspace, void*) {
  for (std::int64_t i = first; i < last; ++i) static_cast<std::int64_t*>(workspace)[i] = i + 1;
}

void sum_phase(std::int64_t const* slots, std::int64_t first, std::int64_t last, void* workspace, void* scratch) {
  auto* out = reinterpret_cast<std::int64_t*>(slots[0]);
  for (std::int64_t block = first; block < last; ++block) {
    auto* partial = static_cast<std::int64_t*>(scratch);
    *partial = 0;
    for (std::int64_t i = 0; i < slots[1]; ++i) *partial += static_cast<std::int64_t*>(workspace)[i];
    out[block] = *partial;
  }
}

}  // namespace

TEST_CASE("phases run in order and share the workspace", "[F20]") {
  support::ScopedOptions const scope(with_threads(4));
  LoadedHostKernel const kernel{{write_phase, sum_phase}, nullptr};
  auto const check = [&] {
    std::vector<std::int64_t> out(33, -1);
    std::int64_t const slots[] = {static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(out.data())), 200};
    std::int64_t const blocks[] = {200, 33};
    for (int round = 0; round < 30; ++round) host::run(kernel, blocks, slots, 200 * 8, 8);
    return out == std::vector<std::int64_t>(33, 200 * 201 / 2);
  };
  bool right[3] = {};
  std::thread other([&] { right[0] = check(); });
  std::thread third([&] { right[1] = check(); });
  right[2] = check();
  other.join();
  third.join();
  CHECK(right[0]);
  CHECK(right[1]);
  CHECK(right[2]);
}

TEST_CASE("a loop that is known to be short stays on its thread, and its pace follows the work") {
  support::ScopedOptions const scope(with_threads(4));
  host::Pace pace;
  pace.picoseconds = 10;
  std::atomic<int> elsewhere = 0;
  std::int64_t sum = 0;
  auto const caller = std::this_thread::get_id();
  host::parallel_for(
      100,
      [&](std::int64_t first, std::int64_t last) {
        if (std::this_thread::get_id() != caller) ++elsewhere;
        sum += last - first;
      },
      &pace);
  CHECK(elsewhere == 0);
  CHECK(sum == 100);
  CHECK(pace.picoseconds > 0);

  pace.picoseconds = 1'000'000'000;  // long: ranges may run anywhere, each element once
  std::vector<std::atomic<int>> visits(1000);
  host::parallel_for(
      1000,
      [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t i = first; i < last; ++i) ++visits[static_cast<std::size_t>(i)];
      },
      &pace);
  for (auto const& count : visits) REQUIRE(count == 1);
}

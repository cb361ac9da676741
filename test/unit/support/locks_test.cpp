// Tests that a child of fork() meets open locks and whole tables, whatever threads of its parent do.
#include <fmt/format.h>

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "support/catch.hpp"
#include "support/locks.hpp"
#include "support/sanitized.hpp"
#include "tegula/support/error.hpp"
#include "tegula/support/symbol.hpp"

using namespace tegula;
using namespace tegula::support;

namespace {

constinit Lock first, second;
constinit Lasting<std::map<int, std::string>> numbers;
constinit PerProcess<Mutex> slow;
constinit PerProcess<std::atomic<int>> count;

/// Returns the exit status of `work` in a child of fork(); 255 for one that dies, as by its alarm.
template <class Function>
int in_child(Function const& work) {
  pid_t const child = ::fork();
  if (child == 0) {
    ::alarm(300);
    ::_exit(work());
  }
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child || !WIFEXITED(status)) return 255;
  return WEXITSTATUS(status);
}

/// Lets threads repeat work until it goes.
class Busy {
 public:
  template <class Work>
  Busy(int threads, Work const& work) {
    for (int i = 0; i < threads; ++i)
      threads_.emplace_back([this, work, i] {
        for (int round = 0; !stop_; ++round) work(i, round);
      });
  }
  ~Busy() {
    stop_ = true;
    for (std::thread& thread : threads_) thread.join();
  }
  Busy(Busy const&) = delete;
  Busy& operator=(Busy const&) = delete;

 private:
  std::atomic<bool> stop_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace

TEST_CASE("locks: a second one of a thread is an internal error, as fork() could hang") {
  std::lock_guard const guard(first);
  CHECK_THROWS_AS(second.lock(), InternalError);
}

TEST_CASE("locks: a child of fork() finds tables whole and locks open") {
  if (test::thread_sanitized) TEGULA_SKIP("ThreadSanitizer keeps locks of its own in a child of fork()");
  Busy const busy(2, [](int thread, int round) {
    (void)Symbol(fmt::to_string(round % 5000));
    auto& table = numbers.get();
    std::lock_guard const guard(thread == 0 ? first : second);
    if (thread == 0) table[round % 500] = fmt::to_string(round);
  });
  int bad = 0;
  for (int i = 0; i < 200; ++i)
    bad += in_child([i] {
             (void)Symbol("of the child");
             std::lock_guard const guard(first);
             numbers.get()[1000 + i] = "child";
             return numbers.get().contains(1000 + i) ? 0 : 1;
           }) != 0;
  CHECK(bad == 0);
}

TEST_CASE("locks: a child of fork() makes objects of its own, and waits for no lock of its parent's threads") {
  count.get() = 7;
  std::unique_lock held(slow.get());
  CHECK(in_child([] {
          std::lock_guard const own(slow.get());
          return count.get() == 0 && ++count.get() == 1 ? 0 : 1;
        }) == 0);
  CHECK(count.get() == 7);
}

TEST_CASE("locks: fork() waits for calls that hold it off, nested ones too, and new ones wait for it") {
  std::atomic<int> inside = 0;
  Busy const busy(2, [&](int, int) {
    HoldsForkOff const call;
    HoldsForkOff const nested;
    ++inside;
    std::this_thread::yield();
    --inside;
  });
  int bad = 0;
  for (int i = 0; i < 100; ++i)
    bad += in_child([&] {
             if (inside != 0) return 1;
             HoldsForkOff const call;
             return 0;
           }) != 0;
  CHECK(bad == 0);
  HoldsForkOff const own;  // does not wait for itself
  CHECK(in_child([] {
          HoldsForkOff const call;
          return 0;
        }) == 0);
}

TEST_CASE("locks: an object that cannot be made is made at the next use") {
  Lasting<int> object;
  CHECK_THROWS_AS(object.get([]() -> std::unique_ptr<int> { throw UserError("no"); }), UserError);
  CHECK(object.find() == nullptr);
  CHECK(object.get([] { return std::make_unique<int>(5); }) == 5);
  CHECK(object.get() == 5);
  delete object.find();
}

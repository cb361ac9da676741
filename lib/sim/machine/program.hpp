// Defines the program of a warp: an object with a step function, or a C++20 coroutine.
#pragma once

#include <coroutine>
#include <exception>
#include <functional>
#include <utility>

namespace tegula::sim::machine {

class Warp;

/// Describes a resumable program of one warp. step() performs actions through the warp's handle. It returns after at
/// most one that is a point of the schedule (those that return Turn). If that action has to wait, the machine calls
/// step() again only after the wait has passed. Returns false when the program has ended.
class Program {
 public:
  Program() = default;
  Program(Program const&) = delete;
  Program& operator=(Program const&) = delete;
  virtual ~Program() = default;
  virtual bool step() = 0;
};

/// Holds the result of a schedule point: awaited in a coroutine, dropped in a step function. The answer is true except
/// for test_parity, where it says whether the phase was complete.
class [[nodiscard]] Turn {
 public:
  explicit Turn(bool answer = true) : answer_(answer) {}
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<>) const noexcept {}
  [[nodiscard]] bool answer() const noexcept { return answer_; }
  bool await_resume() const noexcept { return answer_; }  // NOLINT: the answer may be dropped

 private:
  bool answer_;
};

/// Declares the coroutine type of a warp's program: `Task body(Warp w) { co_await w.barrier(site); ... }`.
class Task {
 public:
  struct promise_type {
    std::exception_ptr error;
    Task get_return_object() { return Task(std::coroutine_handle<promise_type>::from_promise(*this)); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { error = std::current_exception(); }
  };

  Task() = default;
  explicit Task(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, {})) {}
  Task& operator=(Task&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Task() {
    if (handle_) handle_.destroy();
  }

  /// Runs to the next schedule point; false when the coroutine has ended.
  bool step() {
    handle_.resume();
    if (handle_.promise().error) std::rethrow_exception(handle_.promise().error);
    return !handle_.done();
  }

 private:
  std::coroutine_handle<promise_type> handle_;
};

/// Makes the coroutine of a warp. Kept for the whole run, so a lambda's captures stay alive.
using Body = std::function<Task(Warp)>;

}  // namespace tegula::sim::machine

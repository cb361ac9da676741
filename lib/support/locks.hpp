// Registers all locks of the library, so that a child of fork() can trace, compile and launch whatever other threads of
// its parent did. A test demands that no other file of lib/ or include/ uses a mutex, a once_flag or a handler of fork,
// and that no static of a function needs a guard.
//
// Four means, by the time for which a thread keeps others out:
// - Lock: for a few instructions on a table that a child needs. fork() waits until it holds all of them.
// - HoldsForkOff: for a call into LLVM, whose own locks are out of reach. fork() waits until the call ends.
// - PerProcess: an object that a child makes anew, so Mutexes in it may be held as long as work takes.
// - Lasting: an object that is made once and needs no lock after that.
#pragma once

#include <pthread.h>

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <type_traits>
#include <utility>

namespace tegula::support {

/// Are the locks of objects that a child of fork() does not share: members of the object of a PerProcess, and of
/// objects that live for one call. A child never meets one that is held.
using Mutex = std::mutex;
using SharedMutex = std::shared_mutex;
using Condition = std::condition_variable;

/// Is a mutex without a destructor, which std::mutex has in libc++. Its states are those of std::mutex.
class PlainMutex {
 public:
  constexpr PlainMutex() = default;
  PlainMutex(PlainMutex const&) = delete;
  PlainMutex& operator=(PlainMutex const&) = delete;
  void lock() { ::pthread_mutex_lock(&mutex_); }
  void unlock() { ::pthread_mutex_unlock(&mutex_); }

 private:
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
};

/// Guards a table for a few instructions; static and constinit. While a thread holds one it does not take another lock,
/// calls no kernel and waits for nothing: so fork() can take all of them, in any order. A second one is an
/// InternalError.
class Lock {
 public:
  constexpr Lock() = default;
  Lock(Lock const&) = delete;
  Lock& operator=(Lock const&) = delete;
  void lock();
  void unlock();

 private:
  friend struct LockRegistry;
  PlainMutex mutex_;
  std::atomic<bool> registered_ = false;
  Lock* next_ = nullptr;
};
static_assert(std::is_trivially_destructible_v<Lock>,
              "a Lock must be destroyed without code: static objects may launch meanwhile");

/// Makes fork() of other threads wait while it lives. One in another one costs nothing. fork() in a thread that has one
/// does not wait.
class HoldsForkOff {
 public:
  HoldsForkOff();
  ~HoldsForkOff();
  HoldsForkOff(HoldsForkOff const&) = delete;
  HoldsForkOff& operator=(HoldsForkOff const&) = delete;
};

/// Names an action that a child of fork() runs before anything else; static and constinit, registered by ensure().
class ChildAction {
 public:
  constexpr explicit ChildAction(void (*action)(void* of), void* of = nullptr) : action_(action), of_(of) {}
  ChildAction(ChildAction const&) = delete;
  ChildAction& operator=(ChildAction const&) = delete;
  void ensure() {
    if (!registered_.load(std::memory_order_acquire)) add();
  }

 private:
  friend struct LockRegistry;
  void add();
  void (*action_)(void*);
  void* of_;
  std::atomic<bool> registered_ = false;
  ChildAction* next_ = nullptr;
};

/// Holds an object that is made at the first use and never destroyed, since objects of static duration may launch while
/// they are destroyed. Of several threads that make it at once, one object stays. A child of fork() keeps its parent's.
template <class T>
class Lasting {
 public:
  constexpr Lasting() = default;
  Lasting(Lasting const&) = delete;
  Lasting& operator=(Lasting const&) = delete;

  T& get() {
    return get([] { return std::make_unique<T>(); });
  }
  /// `make` returns a unique_ptr; what it throws is passed on, and the next call tries again.
  template <class Make>
  T& get(Make const& make) {
    if (T* const found = object_.load(std::memory_order_acquire)) return *found;
    std::unique_ptr<T> fresh = make();
    T* other = nullptr;
    return object_.compare_exchange_strong(other, fresh.get(), std::memory_order_acq_rel) ? *fresh.release() : *other;
  }
  /// Returns the object if it is made; else null.
  [[nodiscard]] T* find() const { return object_.load(std::memory_order_acquire); }
  void forget() { object_.store(nullptr, std::memory_order_release); }

 private:
  std::atomic<T*> object_ = nullptr;
};

/// Holds an object as Lasting does, but a child of fork() makes one of its own: threads that it does not have may hold
/// locks of its parent's, or have changed half of it.
template <class T>
class PerProcess {
 public:
  constexpr PerProcess() = default;
  PerProcess(PerProcess const&) = delete;
  PerProcess& operator=(PerProcess const&) = delete;

  T& get() {
    return get([] { return std::make_unique<T>(); });
  }
  template <class Make>
  T& get(Make const& make) {
    if (T* const found = object_.find()) return *found;
    forget_in_child_.ensure();
    return object_.get(make);
  }
  [[nodiscard]] T* find() const { return object_.find(); }

 private:
  Lasting<T> object_;
  ChildAction forget_in_child_{[](void* of) { static_cast<Lasting<T>*>(of)->forget(); }, &object_};
};

/// Calls std::atexit, whose own lock a child of fork() must not find held either.
void at_exit(void (*action)());

}  // namespace tegula::support

#include "support/locks.hpp"

#include <pthread.h>

#include <cstdlib>
#include <mutex>
#include <utility>

#include "tegula/support/error.hpp"

namespace tegula::support {
namespace {

thread_local constinit int held_locks = 0;
thread_local constinit int held_forks = 0;

/// Lets calls into LLVM pass, and fork() when there is none. New calls wait while fork() does, else it might never run.
constinit pthread_rwlock_t calls_into_llvm = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
constinit thread_local bool forks_with_gate = false;

}  // namespace

/// Lists locks and actions, and holds the locks while a process forks.
struct LockRegistry {
  std::mutex mutex;
  Lock* locks = nullptr;
  ChildAction* actions = nullptr;

  template <class Entry>
  void add(Entry& entry, Entry*& list) {
    std::lock_guard const guard(mutex);
    if (entry.registered_.load(std::memory_order_relaxed)) return;
    entry.next_ = std::exchange(list, &entry);
    entry.registered_.store(true, std::memory_order_release);
  }
  void take() {
    mutex.lock();
    for (Lock* lock = locks; lock != nullptr; lock = lock->next_) lock->mutex_.lock();
  }
  void release() {
    for (Lock* lock = locks; lock != nullptr; lock = lock->next_) lock->mutex_.unlock();
    mutex.unlock();
  }
  void act() const {
    for (ChildAction* action = actions; action != nullptr; action = action->next_) action->action_(action->of_);
  }
};

namespace {

constinit LockRegistry registry;

/// Calls into LLVM use Locks, so they end first.
void before_fork() {
  forks_with_gate = held_forks == 0;
  if (forks_with_gate) ::pthread_rwlock_wrlock(&calls_into_llvm);
  registry.take();
}

void after_fork_in_parent() {
  registry.release();
  if (forks_with_gate) ::pthread_rwlock_unlock(&calls_into_llvm);
}

void after_fork_in_child() {
  registry.release();
  // The lock remembers the number of the parent's thread, so it is made anew.
  calls_into_llvm = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
  if (held_forks > 0) ::pthread_rwlock_rdlock(&calls_into_llvm);
  registry.act();
}

/// Runs before other static objects of the program are made, so before there are threads.
[[gnu::constructor(101)]] void register_handlers() {
  ::pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

}  // namespace

void Lock::lock() {
  if (held_locks != 0) throw InternalError("locks: a thread that holds a Lock takes another one, so fork() may hang");
  if (!registered_.load(std::memory_order_acquire)) registry.add(*this, registry.locks);
  mutex_.lock();
  ++held_locks;
}

void Lock::unlock() {
  --held_locks;
  mutex_.unlock();
}

void ChildAction::add() { registry.add(*this, registry.actions); }

HoldsForkOff::HoldsForkOff() {
  if (held_forks++ == 0) ::pthread_rwlock_rdlock(&calls_into_llvm);
}

HoldsForkOff::~HoldsForkOff() {
  if (--held_forks == 0) ::pthread_rwlock_unlock(&calls_into_llvm);
}

void at_exit(void (*action)()) {
  static constinit Lock lock;
  std::lock_guard const guard(lock);
  std::atexit(action);
}

}  // namespace tegula::support

#include "support/locks.hpp"

#include <pthread.h>

#include <cstdlib>
#include <mutex>
#include <type_traits>
#include <utility>

#include "tegula/support/error.hpp"

namespace tegula::support {
namespace {

thread_local constinit int held_locks = 0;
thread_local constinit int held_forks = 0;

/// Lets calls into LLVM pass, and fork() when there is none. A call passes the door to begin. fork() keeps the door
/// while it waits for the calls that have begun: new ones wait, else it might never run.
struct Gate {
  pthread_mutex_t door = PTHREAD_MUTEX_INITIALIZER;
  pthread_rwlock_t calls = PTHREAD_RWLOCK_INITIALIZER;

  void enter() {
    ::pthread_mutex_lock(&door);
    ::pthread_rwlock_rdlock(&calls);
    ::pthread_mutex_unlock(&door);
  }
  void leave() { ::pthread_rwlock_unlock(&calls); }
  void close() {
    ::pthread_mutex_lock(&door);
    ::pthread_rwlock_wrlock(&calls);
  }
  void open() {
    ::pthread_rwlock_unlock(&calls);
    ::pthread_mutex_unlock(&door);
  }
};

constinit Gate gate;
constinit thread_local bool forks_with_gate = false;

}  // namespace

/// Lists locks and actions, and holds the locks while a process forks.
struct LockRegistry {
  PlainMutex mutex;
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
static_assert(std::is_trivially_destructible_v<LockRegistry>,
              "the registry must be destroyed without code: static objects may launch meanwhile");

/// Calls into LLVM use Locks, so they end first.
void before_fork() {
  forks_with_gate = held_forks == 0;
  if (forks_with_gate) gate.close();
  registry.take();
}

void after_fork_in_parent() {
  registry.release();
  if (forks_with_gate) gate.open();
}

void after_fork_in_child() {
  registry.release();
  // Its locks remember threads of the parent, so it is made anew.
  gate = Gate();
  if (held_forks > 0) gate.enter();
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
  if (held_forks++ == 0) gate.enter();
}

HoldsForkOff::~HoldsForkOff() {
  if (--held_forks == 0) gate.leave();
}

void at_exit(void (*action)()) {
  static constinit Lock lock;
  std::lock_guard const guard(lock);
  std::atexit(action);
}

}  // namespace tegula::support

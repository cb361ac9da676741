#include "runtime/host/thread_pool.hpp"

// The thread sanitizer does not know fences; a posted handler is ordered by the scheduler's mutex in any case. No other
// file includes Asio, so the choice is the same everywhere.
#define BOOST_ASIO_DISABLE_FENCED_BLOCK
// Older versions of Asio ask for std::result_of instead, which C++20 removed.
#define BOOST_ASIO_HAS_STD_INVOKE_RESULT 1
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <thread>
#include <type_traits>
#include <vector>

#include "support/locks.hpp"
#include "support/options.hpp"

namespace tegula::runtime::host {
namespace {

/// Sets the ranges per thread. They are many enough that a slow thread does not delay the others, and few enough that
/// entering one is cheap.
constexpr std::int64_t ranges_per_thread = 8;

constexpr int spins_before_sleep = 4000;

/// Sets how long a helper polls for the next launch before it sleeps: about the cost of waking it up.
constexpr std::chrono::microseconds look_out{50};

/// Sets the work, in picoseconds, from which a second thread is faster: one that polls, one that sleeps. A thread that
/// polls begins after 0.2 us, and the caller waits as long for its end. Waking one costs the caller a system call, and
/// it begins after 20 to 50 us.
constexpr std::int64_t worth_offering = 3'000'000, worth_waking = 40'000'000;
/// Sets the shortest range, in picoseconds: taking the next one costs about 50 ns.
constexpr std::int64_t shortest_range = 500'000;

/// Tells the processor that this thread only waits.
void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

/// Holds memory for one posted handler of one helper, so that posting does not allocate.
struct HandlerSlot {
  alignas(std::max_align_t) std::byte bytes[256];
};

/// Is one parallel_for. Helpers that start late may still hold it when the caller has left: it returns to the list of
/// free jobs with its last reference.
class Job {
 public:
  /// Begins with the ranges from `first` on.
  void begin(std::int64_t first, std::int64_t total, std::int64_t chunk, RangeBody body, void* context, int helpers) {
    next_.store(first, std::memory_order_relaxed);
    total_ = total;
    chunk_ = chunk;
    body_ = body;
    context_ = context;
    failure_ = nullptr;
    {
      std::lock_guard lock(mutex_);
      open_ = true;
      active_.store(0, std::memory_order_relaxed);
    }
    references_.store(helpers + 1, std::memory_order_relaxed);
    if (slots_.size() < static_cast<std::size_t>(helpers))
      slots_ = std::vector<HandlerSlot>(static_cast<std::size_t>(helpers));
  }

  /// Takes ranges until none is left; returns the number of elements.
  std::int64_t work() {
    std::int64_t done = 0;
    try {
      while (true) {
        std::int64_t const first = next_.fetch_add(chunk_, std::memory_order_relaxed);
        if (first >= total_) break;
        std::int64_t const last = std::min(first + chunk_, total_);
        body_(context_, first, last);
        done += last - first;
      }
    } catch (...) {
      next_.store(total_, std::memory_order_relaxed);
      std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
    }
    return done;
  }

  /// Does a helper's part; nothing if the caller has already closed the job.
  void help() {
    {
      std::lock_guard lock(mutex_);
      if (!open_) return;
      active_.fetch_add(1, std::memory_order_relaxed);
    }
    work();
    std::lock_guard lock(mutex_);
    if (active_.fetch_sub(1, std::memory_order_relaxed) == 1) done_.notify_one();
  }

  /// Waits for the helpers that have begun; the others will do nothing.
  std::exception_ptr close() {
    std::unique_lock lock(mutex_);
    open_ = false;
    if (active_.load(std::memory_order_relaxed) != 0) {
      // Ranges are short, so the last one mostly ends sooner than a sleeping thread would wake.
      lock.unlock();
      for (int spin = 0; spin < spins_before_sleep && active_.load(std::memory_order_relaxed) != 0; ++spin) relax();
      lock.lock();
      done_.wait(lock, [this] { return active_.load(std::memory_order_relaxed) == 0; });
    }
    return std::move(failure_);
  }

  [[nodiscard]] bool release() { return references_.fetch_sub(1, std::memory_order_acq_rel) == 1; }
  [[nodiscard]] HandlerSlot& slot(int helper) { return slots_[static_cast<std::size_t>(helper)]; }

 private:
  std::atomic<std::int64_t> next_ = 0;
  std::int64_t total_ = 0;
  std::int64_t chunk_ = 1;
  RangeBody body_ = nullptr;
  void* context_ = nullptr;

  support::Mutex mutex_;
  support::Condition done_;
  bool open_ = false;
  std::atomic<int> active_ = 0;  ///< changed under the mutex
  std::exception_ptr failure_;

  std::atomic<int> references_ = 0;
  std::vector<HandlerSlot> slots_;
};

/// Keeps finished jobs for the next launches.
class FreeJobs {
 public:
  Job* take() {
    {
      std::lock_guard lock(mutex_);
      if (!jobs_.empty()) {
        Job* job = jobs_.back();
        jobs_.pop_back();
        return job;
      }
    }
    return new Job;
  }
  void give(Job* job) {
    std::lock_guard lock(mutex_);
    jobs_.push_back(job);
  }

 private:
  support::Mutex mutex_;
  std::vector<Job*> jobs_;
};

class Pool;

/// Holds the state that all launches of the process share. It is never destroyed, so that destructors of static objects
/// may launch.
struct Shared {
  std::atomic<Pool*> pool = nullptr;
  std::atomic<Pool*> wide_pool = nullptr;  ///< of another size, where TEGULA_THREADS asks for more than the machine has
  std::atomic<bool> closed = false;        ///< the process exits and helpers have ended
  Pool* ended[2] = {};                     ///< pools without threads, kept for launches that have found them
  support::Lock making;
};
static_assert(std::is_trivially_destructible_v<Shared>);
constinit Shared shared;

/// Forgets the helpers in a child of fork(), which does not have them.
constinit support::ChildAction forget_threads([](void*) {
  shared.pool = nullptr;
  shared.wide_pool = nullptr;
});

FreeJobs& free_jobs() {
  static constinit support::PerProcess<FreeJobs> jobs;
  return jobs.get();
}

void leave(Job* job) {
  if (job->release()) free_jobs().give(job);
}

/// Gives a handler the memory of its slot.
template <class T>
struct SlotAllocator {
  using value_type = T;
  HandlerSlot* slot;

  explicit SlotAllocator(HandlerSlot* memory) : slot(memory) {}
  template <class U>
  explicit(false) SlotAllocator(SlotAllocator<U> const& other) : slot(other.slot) {}

  T* allocate(std::size_t count) {
    if (count * sizeof(T) <= sizeof slot->bytes && alignof(T) <= alignof(std::max_align_t))
      return reinterpret_cast<T*>(slot->bytes);
    return static_cast<T*>(::operator new(count * sizeof(T)));
  }
  void deallocate(T* memory, std::size_t) {
    if (reinterpret_cast<std::byte*>(memory) != slot->bytes) ::operator delete(memory);
  }
  template <class U>
  friend bool operator==(SlotAllocator const& a, SlotAllocator<U> const& b) {
    return a.slot == b.slot;
  }
};

struct Helper {
  using allocator_type = SlotAllocator<void>;
  Pool* pool;
  Job* job;
  HandlerSlot* slot;

  [[nodiscard]] allocator_type get_allocator() const noexcept { return allocator_type(slot); }
  void operator()() const;
};

/// Runs helper threads; made at the first launch that can use them. A helper that has ended a job polls for another one
/// at its seat for a while. So frequent launches need not wake it.
class Pool {
 public:
  explicit Pool(int helpers)
      : helpers_(helpers), seats_(static_cast<std::size_t>(helpers)), threads_(static_cast<std::size_t>(helpers)) {}
  /// Ends the threads after all posted work; the pool stays, for launches that have found it already.
  void close() { threads_.join(); }
  Pool(Pool const&) = delete;
  Pool& operator=(Pool const&) = delete;
  [[nodiscard]] int helpers() const { return helpers_; }

  /// Gets helpers for a job that has a reference for each of them: those at their seats, then sleeping ones.
  void invite(Job* job, int helpers) {
    int wanted = helpers - offer(job, helpers, true);
    for (; wanted > 0 && waking_.fetch_add(1, std::memory_order_relaxed) < helpers_; --wanted)
      boost::asio::post(threads_, Helper{this, job, &job->slot(wanted - 1)});
    if (wanted == 0) return;
    waking_.fetch_sub(1, std::memory_order_relaxed);
    // All helpers are being woken for earlier jobs; they look at their seats next.
    for (wanted -= offer(job, wanted, false); wanted > 0; --wanted) leave(job);
  }

  /// Tells whether a helper polls for a job.
  [[nodiscard]] bool polls() const {
    return std::any_of(seats_.begin(), seats_.end(), [](Seat const& seat) {
      return seat.taken.load(std::memory_order_relaxed) && seat.offer.load(std::memory_order_relaxed) == nullptr;
    });
  }

  /// Notes that a helper was woken.
  void woken() { waking_.fetch_sub(1, std::memory_order_relaxed); }

  /// Withdraws the offers of a job that were not accepted.
  void withdraw(Job* job) {
    for (Seat& seat : seats_) {
      Job* mine = job;
      if (seat.offer.load(std::memory_order_relaxed) == job &&
          seat.offer.compare_exchange_strong(mine, nullptr, std::memory_order_relaxed))
        leave(job);
    }
  }

  /// Waits, in a helper thread, between two jobs.
  void wait_at_seat() {
    thread_local Seat* const seat = &seats_[next_seat_.fetch_add(1, std::memory_order_relaxed)];
    while (Job* const job = look_out_from(*seat)) {
      job->help();
      leave(job);
    }
  }

 private:
  /// Holds the place where one helper thread waits.
  struct alignas(64) Seat {
    std::atomic<bool> taken = false;  ///< a hint: the helper looks here
    std::atomic<Job*> offer = nullptr;
  };

  /// Offers a job at up to `count` seats that are taken, or at those that are not. Returns the number of offers.
  int offer(Job* job, int count, bool taken) {
    int offers = 0;
    for (Seat& seat : seats_) {
      if (offers == count) break;
      Job* none = nullptr;
      if (seat.taken.load(std::memory_order_relaxed) == taken &&
          seat.offer.compare_exchange_strong(none, job, std::memory_order_release, std::memory_order_relaxed))
        ++offers;
    }
    return offers;
  }

  /// Returns the next job offered at the seat; null when the time is up. An offer that comes after the last look stays
  /// until the caller withdraws it: that launch has one helper fewer.
  static Job* look_out_from(Seat& seat) {
    Job* job = nullptr;
    seat.taken.store(true, std::memory_order_relaxed);
    auto const end = std::chrono::steady_clock::now() + look_out;
    while (job == nullptr && std::chrono::steady_clock::now() < end) {
      relax();
      if (seat.offer.load(std::memory_order_relaxed) != nullptr)
        job = seat.offer.exchange(nullptr, std::memory_order_acquire);
    }
    seat.taken.store(false, std::memory_order_relaxed);
    return job != nullptr ? job : seat.offer.exchange(nullptr, std::memory_order_acquire);
  }

  int helpers_;
  std::atomic<int> waking_ = 0;  ///< handlers that are posted and have not begun
  std::vector<Seat> seats_;
  std::atomic<std::size_t> next_seat_ = 0;
  boost::asio::thread_pool threads_;
};

void Helper::operator()() const {
  pool->woken();
  job->help();
  leave(job);
  pool->wait_at_seat();
}

/// Ends the helpers when the process exits or the library is unloaded.
struct Closer {
  Closer() = default;
  ~Closer() {
    {
      std::lock_guard lock(shared.making);
      shared.closed = true;
      shared.ended[0] = shared.pool.exchange(nullptr);
      shared.ended[1] = shared.wide_pool.exchange(nullptr);
    }
    for (Pool* const pool : shared.ended)
      if (pool != nullptr) pool->close();
  }
  Closer(Closer const&) = delete;
  Closer& operator=(Closer const&) = delete;
};

/// Counts the hardware threads, once: the answer is read from files.
int hardware_threads() {
  static constinit std::atomic<int> known = 0;
  if (int const count = known.load(std::memory_order_relaxed); count > 0) return count;
  int const count = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  known.store(count, std::memory_order_relaxed);
  return count;
}

/// Returns the pool, made at the first launch that can use it; null when helpers have ended.
Pool* pool_for(int helpers) {
  int const usual = std::max(1, hardware_threads() - 1);
  std::atomic<Pool*>& pool = helpers <= usual ? shared.pool : shared.wide_pool;
  if (Pool* const found = pool.load(std::memory_order_acquire)) return found;
  forget_threads.ensure();
  std::lock_guard lock(shared.making);
  if (shared.closed) return nullptr;
  if (Pool* const found = pool.load(std::memory_order_relaxed)) return found;
  static Closer const closer;  // made under the lock, so not while the process forks
  auto* const created = new Pool(std::max(usual, helpers));
  pool.store(created, std::memory_order_release);
  return created;
}

}  // namespace

int thread_count() {
  int const wanted = support::options().threads;
  return wanted > 0 ? wanted : hardware_threads();
}

namespace {

using Clock = std::chrono::steady_clock;

/// Notes the time of `count` elements since `start`. A time that was longer than the one before may be another
/// process's: it counts for a quarter.
void note(Pace& pace, Clock::time_point start, std::int64_t count) {
  if (count == 0) return;
  std::int64_t const nanoseconds = std::chrono::nanoseconds(Clock::now() - start).count();
  std::int64_t const now = std::max<std::int64_t>(1, nanoseconds * 1000 / count);
  std::int64_t const before = pace.picoseconds.load(std::memory_order_relaxed);
  pace.picoseconds.store(before == 0 || now < before ? now : before + (now - before) / 4, std::memory_order_relaxed);
}

/// Runs on this thread what is not worth another one. Returns the number of elements done.
std::int64_t run_alone(std::int64_t total, RangeBody body, void* context, Pace& pace) {
  std::int64_t const one = pace.picoseconds.load(std::memory_order_relaxed);
  if (one == 0 || one > worth_waking / total) return 0;
  std::int64_t const expected = one * total;
  Pool const* const pool = shared.pool.load(std::memory_order_acquire);
  if (expected >= worth_offering && pool != nullptr && pool->polls()) return 0;
  auto const start = Clock::now();
  std::int64_t const part = expected < worth_offering ? total : std::max<std::int64_t>(1, total / 8);
  body(context, 0, part);
  if (part < total) {
    if (std::chrono::nanoseconds(Clock::now() - start).count() * 1000 > expected) {
      note(pace, start, part);
      return part;
    }
    body(context, part, total);
  }
  note(pace, start, total);
  return total;
}

}  // namespace

void parallel_for(std::int64_t total, RangeBody body, void* context, Pace* pace) {
  if (total <= 0) return;
  int const threads = thread_count();
  if (threads == 1 || total == 1) return body(context, 0, total);
  std::int64_t const first = pace == nullptr ? 0 : run_alone(total, body, context, *pace);
  if (first == total) return;
  std::int64_t chunk = std::max<std::int64_t>(1, (total - first) / (threads * ranges_per_thread));
  if (std::int64_t const one = pace == nullptr ? 0 : pace->picoseconds.load(std::memory_order_relaxed); one > 0)
    chunk = std::max(chunk, std::min(shortest_range / one, (total - first + threads - 1) / threads));
  auto const ranges = (total - first + chunk - 1) / chunk;
  int const helpers = static_cast<int>(std::min<std::int64_t>(threads - 1, ranges - 1));
  Pool* const workers = helpers == 0 ? nullptr : pool_for(helpers);
  if (workers == nullptr) return body(context, first, total);
  auto const start = Clock::now();
  Job* job = free_jobs().take();
  job->begin(first, total, chunk, body, context, helpers);
  workers->invite(job, helpers);
  std::int64_t const done = job->work();
  if (pace != nullptr) note(*pace, start, done);
  workers->withdraw(job);
  std::exception_ptr const failure = job->close();
  leave(job);
  if (failure) std::rethrow_exception(failure);
}

}  // namespace tegula::runtime::host

// Runs blocks of a grid on the threads of one pool (Boost.Asio's), shared by all launches of the process.
#pragma once

#include <atomic>
#include <cstdint>
#include <type_traits>

namespace tegula::runtime::host {

/// Counts the threads that run a launch, the calling one included: TEGULA_THREADS, else one per hardware thread.
int thread_count();

/// Holds the time of one element of a loop, as its last runs measured it. So short loops do not wake threads.
struct Pace {
  std::atomic<std::int64_t> picoseconds = 0;  ///< 0: not known yet
};

/// Calls body(context, first, last) for ranges that cover [0, total) once, on the calling thread and on idle threads of
/// the pool. Returns when all have ended. The caller gets the first exception; ranges not begun by then are dropped.
/// May be called from several threads at once and from inside a body. Does not allocate once warm.
///
/// With a pace the calling thread runs alone where that is expected to be faster. That is below 3 us of work for a
/// thread that still polls after another launch, and below 40 us for one that sleeps. If an eighth of the work takes
/// longer than all was expected to, the rest is shared.
///
/// At the exit of the process the threads of the pool end. Destructors of static objects that come later run their
/// launches on their own thread. A child of fork() makes a separate pool.
using RangeBody = void (*)(void* context, std::int64_t first, std::int64_t last);
void parallel_for(std::int64_t total, RangeBody body, void* context, Pace* pace = nullptr);

template <class Body>
void parallel_for(std::int64_t total, Body&& body, Pace* pace = nullptr) {
  using Plain = std::remove_reference_t<Body>;
  parallel_for(
      total, [](void* context, std::int64_t first, std::int64_t last) { (*static_cast<Plain*>(context))(first, last); },
      const_cast<void*>(static_cast<void const*>(&body)), pace);
}

}  // namespace tegula::runtime::host

// Counts events of the launcher. Relaxed: numbers of different events need no order.
#pragma once

#include <atomic>
#include <cstdint>

#include "tegula/runtime/counters.hpp"

namespace tegula::runtime {

struct CounterCells {
  std::atomic<std::int64_t> launches = 0;
  std::atomic<std::int64_t> maps_encoded = 0;
  std::atomic<std::int64_t> maps_shared = 0;
  std::atomic<std::int64_t> copies_to_device = 0;
  std::atomic<std::int64_t> kernels_loaded = 0;
  std::atomic<std::int64_t> kernels_compiled = 0;
};
CounterCells& counter_cells() noexcept;

inline void count(std::atomic<std::int64_t> CounterCells::*event) noexcept {
  (counter_cells().*event).fetch_add(1, std::memory_order_relaxed);
}

}  // namespace tegula::runtime

// Owns the memory behind a buffer.
#pragma once

#include <atomic>
#include <cstdint>

#include "runtime/counted.hpp"
#include "tegula/runtime/buffer.hpp"

namespace tegula::detail {

/// Outlives its memory while it is still named: `alive` tells a prepared launch that a buffer was freed.
struct Allocation : runtime::Counted {
  device where;
  void* address = nullptr;  ///< null for 0 bytes
  std::int64_t bytes = 0;
  std::atomic<bool> alive = true;
};

}  // namespace tegula::detail

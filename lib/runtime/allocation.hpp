// Owns the memory behind a buffer.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include "runtime/reference_counted.hpp"
#include "tegula/runtime/buffer.hpp"

namespace tegula::detail {

/// Outlives its memory while it is still named: `alive` tells a prepared launch that a buffer was freed.
struct Allocation : runtime::ReferenceCounted {
  device where;
  void* address = nullptr;  ///< null for 0 bytes
  std::int64_t bytes = 0;
  std::optional<stream> order;  ///< in whose order the memory was allocated and is freed; none: at once
  bool pinned = false;          ///< page-locked memory of the host
  std::atomic<bool> alive = true;
  location freed_at;  ///< of the call of free(), once `alive` is false; unknown if the buffer died

  /// Says where the memory was freed: "was freed at a.cpp:7".
  [[nodiscard]] std::string freed_text() const;
};

}  // namespace tegula::detail

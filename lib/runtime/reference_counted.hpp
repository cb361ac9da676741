// Counts references for detail::Handle.
#pragma once

#include <atomic>

namespace tegula::runtime {

/// Is the base of objects that handles share. Starts with one reference.
class ReferenceCounted {
 public:
  void retain() noexcept { count_.fetch_add(1, std::memory_order_relaxed); }
  /// True if this was the last reference.
  bool release() noexcept { return count_.fetch_sub(1, std::memory_order_acq_rel) == 1; }

 private:
  std::atomic<long> count_ = 1;
};

}  // namespace tegula::runtime

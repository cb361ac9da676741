// Decides when the lambda of a captureless kernel is called: once for its IR, and now and then to compare.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "jit/traced.hpp"
#include "support/locks.hpp"

namespace tegula::jit {

/// Keeps the trace of the captureless kernels of one type and name. Safe from any thread.
class KeptTrace {
 public:
  /// Returns the trace, made by the first caller. The lambda runs without a lock, since it may launch, or wait for a
  /// thread that does: threads that come at once each trace, and all traces must be equal.
  std::shared_ptr<Traced const> get(KernelRef const& kernel, GridFrom grid, bool* is_first = nullptr);

  /// Returns the trace, compared with another one where it is not the first.
  std::shared_ptr<Traced const> get_compared(KernelRef const& kernel, GridFrom grid);

  /// Traces once more at the calls 2, 4, 8, 16 and so on, and until the traces are equal again. Under
  /// TEGULA_VERIFY=each it does so at every call. UserError if the result is another kernel, since code of the first
  /// one would run. The number of traces grows with the logarithm of that of calls, so this is always on.
  void compare(KernelRef const& kernel);

 private:
  std::shared_ptr<Traced const> kept(std::shared_ptr<Traced const> const& place);
  /// Keeps a trace unless there is one; returns the one that is kept.
  std::shared_ptr<Traced const> keep(std::shared_ptr<Traced const>& place, std::shared_ptr<Traced const> fresh);

  support::Mutex mutex_;
  std::shared_ptr<Traced const> traced_, with_stated_grid_;
  std::atomic<std::uint64_t> calls_ = 1;  ///< the first one makes the trace
  std::atomic<bool> differs_ = false;     ///< at the last comparison
};

}  // namespace tegula::jit

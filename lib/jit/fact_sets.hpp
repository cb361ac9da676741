// Bounds the builds of a kernel: chooses the facts of tensors that each build uses.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/locks.hpp"
#include "tegula/abi/compiled_kernel.hpp"

namespace tegula::jit {

/// Limits the builds of one kernel for one device, one grid and one set of options. Facts of the tensors beyond it take
/// a build that needs fewer facts, at last none.
inline constexpr int max_builds = 16;

/// Remembers the facts for which each kernel was built. Safe from any thread.
class FactSets {
 public:
  using Facts = std::vector<TensorFacts>;

  /// Returns the facts of the build for tensors of which `present` hold: just these, as long as there is room for them;
  /// else those of the known build that uses the most of them. `kernel` names the kernel, its options and its device.
  Facts chosen(std::string const& kernel, std::span<TensorFacts const> present);
  [[nodiscard]] int count(std::string const& kernel) const;
  /// Counts the builds of all kernels whose names begin so.
  [[nodiscard]] int count_of(std::string_view beginning) const;
  void clear();

 private:
  mutable support::Mutex mutex_;
  std::map<std::string, std::vector<Facts>, std::less<>> sets_;
};

}  // namespace tegula::jit

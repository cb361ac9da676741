// Remembers the loaded code of one kernel by all that a launch may change: device, facts of tensors, grid, options.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "jit/traced.hpp"
#include "runtime/loaded_kernel.hpp"
#include "support/locks.hpp"
#include "tegula/abi/compile_options.hpp"
#include "tegula/runtime/device.hpp"

namespace tegula::jit {

/// Says where loaded code came from; for explain and tests.
enum class Origin : std::uint8_t { memory, disk, compiled };

struct FoundKernel {
  std::shared_ptr<runtime::LoadedKernel const> loaded;
  /// This kernel's source lines for the requirements of the code: an equal kernel elsewhere may have had it compiled.
  std::shared_ptr<std::vector<location> const> require_sites;
  Origin origin = Origin::memory;
};

/// Holds the code of one kernel. Safe from any thread.
class KnownCode {
 public:
  /// Names code of the kernel. The options are those that the call stated.
  struct Key {
    device where;
    GridFrom grid = GridFrom::kernel;
    std::span<TensorFacts const> facts;
    CompileOptions const& options;
  };

  /// Finds code of this name; its loaded code is null if there is none.
  [[nodiscard]] FoundKernel find(Key const& key) const;
  void add(Key const& key, FoundKernel const& found);

 private:
  struct Variant {
    GridFrom grid;
    std::vector<TensorFacts> facts;
    CompileOptions options;
    std::shared_ptr<runtime::LoadedKernel const> loaded;
    std::shared_ptr<std::vector<location> const> require_sites;
  };

  mutable support::SharedMutex mutex_;
  std::vector<Variant> variants_;
};

}  // namespace tegula::jit

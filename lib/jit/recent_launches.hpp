// Keeps the latest launches of one kernel, so that a call with equal arguments needs no checks, encoding or allocation.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <vector>

#include "runtime/prepared_launch.hpp"
#include "support/locks.hpp"
#include "tegula/abi/compile_options.hpp"

namespace tegula::jit {

/// Keeps launches by device, source of the grid, options and arguments. Checks of arguments depend on these alone, and
/// on the buffers, which a launch names: another buffer never gets the record of a kept one. Safe from any thread.
class RecentLaunches {
 public:
  /// Names a launch. The options are those that the call stated; null: none.
  struct Key {
    device where;
    bool states_grid = false;
    CompileOptions const* options = nullptr;
    std::span<Argument const> arguments;
  };

  /// Returns the launch, if it is kept and no buffer was freed; else null.
  std::shared_ptr<runtime::PreparedLaunch const> find(Key const& key) const {
    std::shared_lock lock(mutex_);
    for (Kept const& kept : kept_)
      if (kept.is(key)) return kept.launch->freed_buffer() == nullptr ? kept.launch : nullptr;
    return nullptr;
  }

  /// Keeps a launch in place of the oldest.
  void add(Key const& key, std::shared_ptr<runtime::PreparedLaunch const> launch) {
    Kept fresh{key.where,
               key.states_grid,
               key.options != nullptr ? std::make_unique<CompileOptions const>(*key.options) : nullptr,
               {key.arguments.begin(), key.arguments.end()},
               std::move(launch)};
    std::unique_lock const lock(mutex_);
    std::swap(kept_[next_], fresh);  // the oldest ends after the lock
    next_ = (next_ + 1) % kept_.size();
  }

 private:
  struct Kept {
    device where = device::host();
    bool states_grid = false;
    std::unique_ptr<CompileOptions const> options;
    std::vector<Argument> arguments;
    std::shared_ptr<runtime::PreparedLaunch const> launch;

    [[nodiscard]] bool is(Key const& key) const {
      return launch != nullptr && where == key.where && states_grid == key.states_grid &&
             (options == nullptr) == (key.options == nullptr) && std::ranges::equal(arguments, key.arguments) &&
             (options == nullptr || *options == *key.options);
    }
  };

  mutable support::SharedMutex mutex_;
  std::array<Kept, 4> kept_;
  std::size_t next_ = 0;
};

}  // namespace tegula::jit

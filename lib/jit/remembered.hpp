// Remembers choices that launches made.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <utility>

#include "support/locks.hpp"

namespace tegula::jit {

/// Remembers a number for each key; forgets all where there are too many. Safe from any thread.
template <class Key>
class Remembered {
 public:
  [[nodiscard]] std::optional<int> find(Key const& key) const {
    std::shared_lock const lock(mutex_);
    auto const at = kept_.find(key);
    return at == kept_.end() ? std::nullopt : std::optional(at->second);
  }
  void add(Key key, int number) {
    std::unique_lock const lock(mutex_);
    if (kept_.size() >= max_kept) kept_.clear();
    kept_.emplace(std::move(key), number);
  }
  void clear() {
    std::unique_lock const lock(mutex_);
    kept_.clear();
  }

 private:
  static constexpr std::size_t max_kept = 4096;
  mutable support::SharedMutex mutex_;
  std::map<Key, int> kept_;
};

}  // namespace tegula::jit

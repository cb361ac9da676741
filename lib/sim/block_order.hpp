// Knows which accesses of one block come before those of another: by releases and acquires of the same element.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "ir/core/op.hpp"

namespace tegula::sim {

class BlockOrder {
 public:
  /// Counts the releases that a block has made: the time of its next access.
  [[nodiscard]] std::int64_t time(std::int64_t block) const {
    auto const found = time_.find(block);
    return found == time_.end() ? 0 : found->second;
  }
  /// Tells whether an access at that time comes before the next one of `later`.
  [[nodiscard]] bool ordered(std::int64_t earlier, std::int64_t time, std::int64_t later) const {
    if (earlier == later) return true;
    auto const clock = known_.find(later);
    if (clock == known_.end()) return false;
    auto const found = clock->second.find(earlier);
    return found != clock->second.end() && time <= found->second;
  }
  /// Follows an atomic of a block at an address.
  void follow(std::int64_t block, void const* address, ir::MemoryOrder order) {
    if (order == ir::MemoryOrder::relaxed) return;
    Clock& own = known_[block];
    Clock& published = published_[address];
    if (acquires(order)) join(own, published);
    if (!releases(order)) return;
    std::int64_t& now = time_[block];
    join(published, own);
    published[block] = now++;
  }

 private:
  using Clock = std::unordered_map<std::int64_t, std::int64_t>;  // by block, the time up to which it is known
  static void join(Clock& into, Clock const& from) {
    for (auto const& [block, time] : from) {
      auto const [at, fresh] = into.try_emplace(block, time);
      if (!fresh && at->second < time) at->second = time;
    }
  }

  std::unordered_map<std::int64_t, std::int64_t> time_;
  std::unordered_map<std::int64_t, Clock> known_;
  std::unordered_map<void const*, Clock> published_;
};

}  // namespace tegula::sim

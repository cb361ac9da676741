// Copies the tensors of a call, so that launches in turn find theirs in memory and not in the caches.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tegula/runtime/argument.hpp"
#include "tegula/runtime/buffer.hpp"
#include "tegula/runtime/stream.hpp"

namespace tegula::tuning {

/// Holds several sets of equal arguments: those of the call, and copies of them in memory of their own.
class Copies {
 public:
  /// Makes as many sets as have `bytes` together, `most` at most. Tensors that have memory in common have none in
  /// common in a copy. Work on the stream before it is waited for.
  Copies(stream const& order, std::span<Argument const> arguments, double bytes, int most);

  [[nodiscard]] int count() const { return static_cast<int>(sets_.size()); }
  [[nodiscard]] std::span<Argument const> set(int number) const { return sets_[static_cast<std::size_t>(number)]; }

 private:
  std::vector<std::vector<Argument>> sets_;
  std::vector<buffer<std::uint8_t>> memory_;
};

}  // namespace tegula::tuning

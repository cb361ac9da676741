#pragma once
// Draws random numbers, the same everywhere; needs the standard library alone.

#include <cstdint>

namespace samples {

/// Draws by xorshift.
class Draw {
 public:
  std::uint64_t next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_ * 0x2545F4914F6CDD1DULL;
  }
  /// Draws a number of 0 .. bound - 1.
  int below(int bound) { return static_cast<int>((next() >> 33) % static_cast<std::uint64_t>(bound)); }

 private:
  std::uint64_t state_ = 0x9E3779B97F4A7C15ULL;
};

}  // namespace samples

// Draws random numbers that are the same with every standard library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace tegula::test {

/// Seeds the random data of tests, the same at every run. Fresh data is drawn by ./dev fuzz alone.
inline constexpr std::uint64_t data_seed = 20'260'901;

/// Draws by xorshift. Uses no standard distribution: their results differ between libraries.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15ULL + 0x123456789ABCDEFULL) { next(); }
  std::uint64_t next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_ * 0x2545F4914F6CDD1DULL;
  }
  /// Draws a number of 0 .. bound - 1.
  int below(int bound) { return static_cast<int>((next() >> 33) % static_cast<std::uint64_t>(bound)); }
  bool chance(int percent) { return below(100) < percent; }
  template <class T>
  T const& pick(std::vector<T> const& list) {
    return list[static_cast<std::size_t>(below(static_cast<int>(list.size())))];
  }

 private:
  std::uint64_t state_;
};

}  // namespace tegula::test

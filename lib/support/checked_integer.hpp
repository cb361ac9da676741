// Checks 64-bit integers that come from a kernel's text: a sum or product that does not fit becomes invalid, instead of
// wrapping unnoticed.
#pragma once

#include <cstdint>
#include <limits>

namespace tegula::support {

/// Holds an integer, or none: where a sum, a difference or a product did not fit, or an operand was none.
class Checked {
 public:
  constexpr Checked(std::int64_t value) : value_(value) {}  // NOLINT: an integer is one

  [[nodiscard]] constexpr bool fits() const { return fits_; }
  /// Returns the integer; only if it fits.
  [[nodiscard]] constexpr std::int64_t value() const { return value_; }
  /// True if it fits and is at most `limit` away from 0: a few such may be added without a check.
  [[nodiscard]] constexpr bool within(std::int64_t limit) const { return fits_ && value_ <= limit && value_ >= -limit; }

  friend constexpr Checked operator+(Checked a, Checked b) {
    std::int64_t result = 0;
    bool const wraps = __builtin_add_overflow(a.value_, b.value_, &result);
    return {result, a.fits_ && b.fits_ && !wraps};
  }
  friend constexpr Checked operator-(Checked a, Checked b) {
    std::int64_t result = 0;
    bool const wraps = __builtin_sub_overflow(a.value_, b.value_, &result);
    return {result, a.fits_ && b.fits_ && !wraps};
  }
  friend constexpr Checked operator*(Checked a, Checked b) {
    std::int64_t result = 0;
    bool const wraps = __builtin_mul_overflow(a.value_, b.value_, &result);
    return {result, a.fits_ && b.fits_ && !wraps};
  }

 private:
  constexpr Checked(std::int64_t value, bool fits) : value_(value), fits_(fits) {}
  std::int64_t value_ = 0;
  bool fits_ = true;
};

/// Tells whether a loop that is at `at`, below `upper`, has another iteration, `step` further on. Step is at least 1.
constexpr bool has_next(std::int64_t at, std::int64_t upper, std::int64_t step) {
  return static_cast<std::uint64_t>(step) < static_cast<std::uint64_t>(upper) - static_cast<std::uint64_t>(at);
}

/// Counts the iterations of a loop from `lower` to `upper`; 0 for a step of 0 or less. At most the maximum integer.
constexpr std::int64_t trip_count(std::int64_t lower, std::int64_t upper, std::int64_t step) {
  if (step < 1 || upper <= lower) return 0;
  std::uint64_t const length = static_cast<std::uint64_t>(upper) - static_cast<std::uint64_t>(lower);
  auto const by = static_cast<std::uint64_t>(step);
  std::uint64_t const trips = length / by + (length % by != 0 ? 1 : 0);
  constexpr std::int64_t max = std::numeric_limits<std::int64_t>::max();
  return trips > static_cast<std::uint64_t>(max) ? max : static_cast<std::int64_t>(trips);
}

}  // namespace tegula::support

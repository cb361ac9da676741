// Writes integers as sums of a constant and multiples of other integers, with ranges and strides. That is enough to
// show that two boxes never meet.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "ir/core/op.hpp"

namespace tegula::analysis {

/// Holds all integers from low to high; both ends are far out if nothing is known.
struct Range {
  static constexpr std::int64_t far = std::int64_t{1} << 60;
  std::int64_t low = -far;
  std::int64_t high = far;

  [[nodiscard]] bool bounded() const { return low > -far && high < far; }
  [[nodiscard]] bool empty() const { return low > high; }
  friend auto operator<=>(Range const&, Range const&) = default;
};
Range operator+(Range a, Range b);
Range operator*(Range a, std::int64_t factor);
Range joined(Range a, Range b);

/// Holds constant + sum of factor * value. A loop's index stands for its distance from the lower bound, in units of the
/// factor that all steps share. Its term means that distance; see `turns`.
struct Affine {
  std::int64_t constant = 0;
  std::map<ir::Value const*, std::int64_t> terms;
  bool fits = true;  ///< no number of it has left 64 bits
  friend bool operator==(Affine const&, Affine const&) = default;
};
Affine operator+(Affine a, Affine const& b);
Affine operator*(Affine a, std::int64_t factor);

/// Holds a sum that differs from an integer by whole multiples of `modulus`; 0: by nothing.
struct Congruence {
  Affine sum;
  std::int64_t modulus = 0;
};

class Affines {
 public:
  /// Returns the sum that an integer scalar equals; at worst the scalar itself. Its numbers are so small that a few
  /// such sums fit, each multiplied by the number of a tile's elements.
  Affine const& of(ir::Value const& value);
  /// Tells whether the numbers of a sum are that small.
  static bool small(Affine const& sum);
  /// Returns a sum without an outer remainder, mask, select that wraps, or widening of an i32; nothing: there is none.
  std::optional<Congruence> congruence(ir::Value const& value);
  /// Returns the range of values of a term of that sum.
  Range range_of_term(ir::Value const& value);
  /// Bounds the term of a for's counter by sums: `modulus` times the term is at most `sum`, since a counter stays below
  /// its upper bound.
  std::optional<Congruence> bound_of_term(ir::Value const& counter);
  /// Returns the range of values of an integer scalar.
  Range range(ir::Value const& value) { return range(value, {}); }
  /// True when a term is the distance that a for has come from its lower bound.
  static bool turns(ir::Value const& value);

 private:
  using Known = std::vector<std::pair<ir::Value const*, Range>>;  ///< the ranges that a branch implies for some values
  Affine compute(ir::Value const& value);
  std::optional<Congruence> congruence_of_widening(ir::Op const& op);
  std::optional<Congruence> congruence_of_remainder(ir::Op const& op);
  /// Finds sides that differ by the same for all values, or for the one value at which a constant is selected.
  std::optional<Congruence> congruence_of_select(ir::Op const& op);
  /// Returns the one value of `number` that a comparison leaves; nothing: it leaves several, or compares another one.
  std::optional<std::int64_t> number_left_by(ir::Op const& compare, bool holds, ir::Value const& number);
  /// Tells whether all values of an integer fit 32 bits, or it is an index.
  bool fits(ir::Value const& value);
  Range range(ir::Value const& value, Known const& known);
  Range compute_range(ir::Value const& value, Known const& known);
  Range range_of_argument(ir::Value const& value, Known const& known);
  Range range_of_select(ir::Op const& select, Known const& known);

  std::map<ir::Value const*, Affine> sums_;
  std::map<ir::Value const*, Range> ranges_;                 ///< that depend on nothing assumed
  std::vector<std::pair<ir::Value const*, Range>> assumed_;  ///< of carried values whose range is being found
  /// Holds ranges found for the current question, under the present assumptions, each with its `assumes_`.
  std::map<std::pair<ir::Value const*, Known>, std::pair<Range, int>> open_ranges_;
  static constexpr int nothing = std::numeric_limits<int>::max(), cut_off = -1;
  int assumes_ = nothing;  ///< the first of `assumed_` on which what was found depends; cut_off: it may be narrower
  int depth_ = 0;
};

/// Tells where two boxes may meet along one axis.
enum class Meeting : std::uint8_t {
  never,
  aligned,  ///< where both begin at the same place, and nowhere else
  anywhere,
};

/// Holds the possible distances of two boxes along one axis: fixed + any of `spread` + whole multiples of `stride` (0:
/// none).
struct Distance {
  std::int64_t fixed = 0;
  Range spread = {0, 0};
  std::int64_t stride = 0;
  /// Returns all of them but for the stride.
  [[nodiscard]] Range whole() const { return spread + Range{fixed, fixed}; }
  /// Tells where [0, before) and [distance, distance + after) may meet.
  [[nodiscard]] Meeting meeting(std::int64_t before, std::int64_t after) const;
  [[nodiscard]] bool apart(std::int64_t before, std::int64_t after) const {
    return meeting(before, after) == Meeting::never;
  }
};

}  // namespace tegula::analysis

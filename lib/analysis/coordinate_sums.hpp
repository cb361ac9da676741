// Writes integers of tiles as sums of coordinates and scalars.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "analysis/axis_facts.hpp"
#include "ir/core/value_memo.hpp"

namespace tegula::analysis {

/// Bounds the elements of an integer: least .. most + factor * index + a sum of scalars.
struct CoordinateSum {
  std::int64_t min = 0, max = 0;
  std::int64_t factor = 0;
  std::vector<std::pair<ir::Value*, std::int64_t>> terms;  ///< each scalar once
};

/// Holds the sum that decides a comparison. The scalars of `large` may be so large that sums wrap: clamp them to
/// +-large_number. Where one of `checked` is then another number, the sum decides nothing.
struct ComparedSum : CoordinateSum {
  static constexpr std::int64_t large_number = std::int64_t{1} << 52;
  std::vector<ir::Value*> large, checked;
};

/// Names the values at which sums end.
struct SumLeaves {
  ir::Value const* index = nullptr;                 ///< of a loop; null: none
  std::function<bool(ir::Value const&)> is_scalar;  ///< scalars that stand for themselves
};

/// Computes sums of one function, for as long as it does not change. A 32-bit sum counts only if the ranges of its
/// scalars show that it does not wrap, the sides of a 64-bit comparison only if they show it where no scalar is large.
class CoordinateSums {
 public:
  CoordinateSums(SumLeaves leaves, AxisFacts const& facts) : leaves_(std::move(leaves)), facts_(facts) {}

  /// Returns the sum that decides a comparison of coordinates, which holds for all elements if the sum's maximum is
  /// below 0. Returns nothing for eq and ne. Returns nothing either if a side is not a sum of coordinates and such
  /// scalars, or has too many or too large numbers.
  std::optional<ComparedSum> compared(ir::Op const& compare);

 private:
  using MaybeSum = std::optional<CoordinateSum>;
  MaybeSum const& sum(ir::Value& value);
  [[nodiscard]] MaybeSum computed(ir::Value& value) const;
  [[nodiscard]] MaybeSum combined(ir::Op const& op) const;
  [[nodiscard]] bool decides_alone(CoordinateSum const& side, CoordinateSum const& other) const;
  [[nodiscard]] bool stays_in_range(CoordinateSum const& sum, Element element) const;
  [[nodiscard]] bool is_large(ir::Value const& value) const;
  /// Tells whether a sum, whose large scalars are clamped, is at most `limit` away from 0.
  [[nodiscard]] bool is_within(CoordinateSum const& sum, std::int64_t limit) const;

  SumLeaves leaves_;
  AxisFacts const& facts_;
  ir::ValueMemo<MaybeSum> sums_;
};

}  // namespace tegula::analysis

// Writes integers of tiles as sums of coordinates and scalars.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "analysis/axis_facts.hpp"
#include "ir/value_memo.hpp"

namespace tegula::analysis {

/// least .. most + factor * index + a sum of scalars: what the elements of an integer are.
struct CoordinateSum {
  std::int64_t least = 0, most = 0;
  std::int64_t factor = 0;
  std::vector<std::pair<ir::Value*, std::int64_t>> terms;  ///< each scalar once
};

/// Where sums end.
struct SumLeaves {
  ir::Value const* index = nullptr;                 ///< of a loop; null: none
  std::function<bool(ir::Value const&)> is_scalar;  ///< scalars that stand for themselves
};

/// Sums of one function, for as long as it does not change. Sums of 64 bits do not overflow; one of 32 bits counts only
/// where the ranges of its scalars show that it does not wrap.
class CoordinateSums {
 public:
  CoordinateSums(SumLeaves leaves, AxisFacts const& facts) : leaves_(std::move(leaves)), facts_(facts) {}

  /// The sum that a comparison of coordinates asks about: it holds for all elements where the sum's greatest is below
  /// 0. Nothing for eq and ne, and where a side is no sum of coordinates and such scalars, or one of too many or too
  /// large numbers.
  std::optional<CoordinateSum> compared(ir::Op const& compare);

 private:
  using MaybeSum = std::optional<CoordinateSum>;
  MaybeSum const& sum(ir::Value& value);
  [[nodiscard]] MaybeSum computed(ir::Value& value) const;
  [[nodiscard]] bool stays_in_range(CoordinateSum const& sum, Element element) const;

  SumLeaves leaves_;
  AxisFacts const& facts_;
  ir::ValueMemo<MaybeSum> sums_;
};

}  // namespace tegula::analysis

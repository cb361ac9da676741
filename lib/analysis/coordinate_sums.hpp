// What integers of tiles are made of: coordinates and scalars.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "ir/op.hpp"

namespace tegula::analysis {

/// least .. most + factor * index + a sum of scalars: what the elements of an integer are.
struct CoordinateSum {
  std::int64_t least = 0, most = 0;
  std::int64_t factor = 0;
  std::vector<std::pair<ir::Value*, std::int64_t>> terms;
};

/// Where sums end.
struct SumLeaves {
  ir::Value const* index = nullptr;                 ///< of a loop; null: none
  std::function<bool(ir::Value const&)> is_scalar;  ///< scalars that stand for themselves
};

/// The sum that a comparison of coordinates asks about: it holds for all elements where the sum's greatest is below 0.
/// Nothing for eq and ne, and where a side is no sum of coordinates and such scalars. Sums of coordinates do not
/// overflow.
std::optional<CoordinateSum> compared_sum(ir::Op const& compare, SumLeaves const& leaves);

}  // namespace tegula::analysis

// Provides, for the files of Layout alone, small vectors over F2 and their elimination, and the banks of shared
// memory.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "tegula/support/extents.hpp"

namespace tegula::layout::detail {

/// Counts the bytes of a bank of shared memory, and the banks of a row of them.
inline constexpr int bank_bytes = 4;
inline constexpr int banks = 32;

inline Extents zeros(int rank) {
  Extents result;
  for (int i = 0; i < rank; ++i) result.push_back(0);
  return result;
}

/// Tells whether a vector has several components that are not 0: it moves along several outputs.
inline bool has_several_components(Extents const& vector) {
  return std::count_if(vector.begin(), vector.end(), [](std::int64_t value) { return value != 0; }) > 1;
}
/// Returns the position of the only component that is not 0; -1: there is none, or there are several.
inline int single_component(Extents const& vector) {
  if (has_several_components(vector)) return -1;
  for (int i = 0; i < vector.size(); ++i)
    if (vector[i] != 0) return i;
  return -1;
}

inline std::int64_t power_of_two_part(std::int64_t value) { return value & -value; }

/// Packs an F2 vector of at most 64 bits: the coordinates of one basis vector, end to end.
inline std::uint64_t pack(Extents const& vector, Extents const& atom) {
  std::uint64_t result = 0;
  int shift = 0;
  for (int i = 0; i < vector.size(); ++i) {
    result |= static_cast<std::uint64_t>(vector[i]) << shift;
    shift += std::countr_zero(static_cast<std::uint64_t>(atom[i]));
  }
  return result;
}

/// Eliminates by Gauss and remembers how each reduced row was made of columns.
class Elimination {
 public:
  /// True when the column is independent of those before.
  bool add(std::uint64_t column, int index) {
    std::uint64_t combination = std::uint64_t{1} << index;
    for (Row const& row : rows_) {
      if (((column >> row.pivot) & 1) == 0) continue;
      column ^= row.value;
      combination ^= row.combination;
    }
    if (column == 0) return false;
    int const pivot = std::countr_zero(column);
    for (Row& row : rows_) {
      if (((row.value >> pivot) & 1) == 0) continue;
      row.value ^= column;
      row.combination ^= combination;
    }
    rows_.push_back({column, combination, pivot});
    return true;
  }
  [[nodiscard]] int rank() const { return static_cast<int>(rows_.size()); }
  /// Returns the columns whose sum is `target`; it must be in their span.
  [[nodiscard]] std::uint64_t solve(std::uint64_t target) const {
    std::uint64_t result = 0;
    for (Row const& row : rows_)
      if (((target >> row.pivot) & 1) != 0) result ^= row.combination;
    return result;
  }

 private:
  struct Row {
    std::uint64_t value;
    std::uint64_t combination;
    int pivot;
  };
  std::vector<Row> rows_;
};

}  // namespace tegula::layout::detail

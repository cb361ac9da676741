// Derives from the source that a shape op states: coordinates, index tables, layouts. Passes, simulators and code
// generation ask here and do not name the op.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ir/core/op.hpp"
#include "layout/layout.hpp"

namespace tegula::ir {

/// Returns the source of an op's result; empty for an op that does not state one.
Source source(Op const& op);
/// True for an op that states its source: it moves elements and computes nothing.
inline bool moves_elements(Op const& op) { return op.info().source != nullptr; }

/// True if the result is the whole operand with its axes permuted, repeated, added or dropped, and nothing else.
bool relabels(Op const& op);
/// True if the operand is a tile besides.
inline bool relabels_tile(Op const& op) { return relabels(op) && op.operand()->type().is_tile(); }
/// True for an op that relabels and keeps the operand's axes in their order.
bool keeps_axis_order(Op const& op);
/// True if the result has elements of its operand, a tile, more than once along an axis.
bool repeats(Op const& op);
/// Returns the operand axis that a result's axis follows in a part; -1: none.
int operand_axis(SourcePart const& part, int result_axis);
/// True if elements along the axis are in another order than along the result's.
inline bool reorders(AxisSource const& axis) { return axis.step != 1 || axis.mask != 0; }

/// True if the operand consists of boxes of the result's shape, and the op takes one of them.
bool takes_box(Op const& op);
/// True if the op puts operands of one shape together.
bool joins_equal_parts(Op const& op);
/// True if an axis of the source has equal elements, any of which may be taken.
bool takes_equal_elements(Source const& source);

/// Returns one coordinate of an operand's element for the coordinates of a result's.
template <class Coordinate>
std::int64_t coordinate(AxisSource const& axis, Coordinate const* at) {
  return axis.axis < 0 ? axis.offset : axis.step * (static_cast<std::int64_t>(at[axis.axis]) ^ axis.mask) + axis.offset;
}

/// Returns the coordinates of an element in the operand of a part, which may lie outside of it.
template <class Coordinate>
void coordinates(SourcePart const& part, Extents const& operand, Extents const& result, Coordinate const* at,
                 std::int64_t* in_operand) {
  if (!part.row_major) {
    for (int axis = 0; axis < part.rank; ++axis) in_operand[axis] = coordinate(part.axes[axis], at);
    return;
  }
  std::int64_t linear = 0;
  for (int axis = 0; axis < result.size(); ++axis) linear = linear * result[axis] + at[axis];
  for (int axis = operand.size(); axis-- > 0; linear /= operand[axis]) in_operand[axis] = linear % operand[axis];
}

/// Finds elements of a part's operand by sums of table entries: entry x of table k stands for coordinate x along axis k
/// of the result.
struct SourceTables {
  static constexpr std::int64_t outside = std::int64_t{-1} << 40;  ///< no sum with one of these is positive

  std::int64_t first = 0;  ///< row-major index of the operand's element for an element whose entries are all 0
  std::vector<std::vector<std::int64_t>> tables;

  /// True if each element has the same row-major index in the operand as in the result.
  bool in_order = false;
};
SourceTables source_tables(SourcePart const& part, Extents const& operand, Extents const& result);

/// Returns the layout that the result has where each thread keeps the elements of its operand; null: no layout does, or
/// the op moves elements between boxes.
layout::Layout const* result_layout(Op const& op, layout::Layout const* operand);
/// Returns the layout that an op's only operand must have for its result to have `result` without moving data; null:
/// there is none.
layout::Layout const* operand_layout(Op const& op, layout::Layout const* result);

}  // namespace tegula::ir

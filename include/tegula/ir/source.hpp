// Defines sources: a shape op states once which element of which operand each element of its result is.
//
// An op struct has `constexpr Source source(SourceShapes const& of) const` beside its effects. Simulators, layouts,
// exchanges between threads, axis classes, loops of the host and facts of integers follow from it
// (lib/ir/memory/source.hpp).
#pragma once

#include "tegula/support/extents.hpp"

namespace tegula::ir {

inline constexpr int max_source_parts = 2;

/// Computes one coordinate of the operand's element: step * (x xor mask) + offset. x is the result's coordinate along
/// `axis`.
struct AxisSource {
  int axis = -1;  ///< of the result; -1: none, the coordinate is `offset`
  std::int64_t offset = 0;
  std::int64_t step = 1;
  std::int64_t mask = 0;
  bool uniform = false;  ///< all elements along the operand's axis are equal: another coordinate serves as well
};

/// Finds the element of one operand for each element of the result.
struct SourcePart {
  int operand = 0;
  bool row_major = false;  ///< the element of the same number in row-major order; `axes` has no meaning
  int rank = 0;            ///< of the operand
  AxisSource axes[max_rank] = {};

  [[nodiscard]] constexpr AxisSource const* begin() const { return axes; }
  [[nodiscard]] constexpr AxisSource const* end() const { return axes + rank; }
};

/// Lists the parts of a result. An element is that of the first part whose coordinates lie in its operand.
struct Source {
  int count = 0;
  SourcePart parts[max_source_parts] = {};
  bool partial = false;  ///< an element may lie in no part: it is any number

  constexpr void add(SourcePart const& part) { parts[count++] = part; }
  [[nodiscard]] constexpr bool empty() const { return count == 0; }
  [[nodiscard]] constexpr SourcePart const* begin() const { return parts; }
  [[nodiscard]] constexpr SourcePart const* end() const { return parts + count; }
};

/// Holds the shapes that a source depends on; a scalar has rank 0.
struct SourceShapes {
  Extents result;
  Extents operands[max_source_parts];
};

/// Returns the part in which an element has the coordinates of the result.
constexpr SourcePart same_place(int rank, int operand = 0) {
  SourcePart part;
  part.operand = operand;
  part.rank = rank;
  for (int axis = 0; axis < rank; ++axis) part.axes[axis].axis = axis;
  return part;
}
/// Returns the source of one part.
constexpr Source source_of(SourcePart const& part) {
  Source result;
  result.add(part);
  return result;
}

/// True for a struct that states its source.
template <class OpStruct>
concept ShapeOp = requires(OpStruct const& op, SourceShapes const& of) {
  op.source(of);
};

}  // namespace tegula::ir

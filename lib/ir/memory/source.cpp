#include "ir/memory/source.hpp"

#include "ir/memory/row_major.hpp"
#include "layout/parts.hpp"

namespace tegula::ir {

using layout::Layout;

Source source(Op const& op) {
  auto const stated = op.info().source;
  if (stated == nullptr) return {};
  SourceShapes of;
  of.result = op.result()->type().shape();
  for (int i = 0; i < op.operand_count(); ++i) of.operands[i] = op.operand(i)->type().shape();
  return stated(op.attributes(), of);
}

int operand_axis(SourcePart const& part, int result_axis) {
  for (int axis = 0; axis < part.rank; ++axis)
    if (part.axes[axis].axis == result_axis) return axis;
  return -1;
}

namespace {

/// True if each element along the operand's axis is one along the result's, in the same order.
bool is_whole(AxisSource const& axis, std::int64_t extent, Extents const& result) {
  if (axis.uniform) return false;
  if (axis.axis < 0) return extent == 1;
  return axis.offset == 0 && !reorders(axis) && extent == result[axis.axis];
}

bool relabels(Source const& source, Extents const& operand, Extents const& result) {
  if (source.count != 1 || source.partial || source.parts[0].row_major) return false;
  for (int axis = 0; axis < operand.size(); ++axis)
    if (!is_whole(source.parts[0].axes[axis], operand[axis], result)) return false;
  return true;
}

/// True if the operand has the result's axes and the result is a box of it.
bool is_box(Source const& source, Extents const& result) {
  if (source.count != 1 || source.partial || source.parts[0].row_major) return false;
  SourcePart const& part = source.parts[0];
  bool same = part.rank == result.size();
  for (int axis = 0; axis < part.rank; ++axis)
    same = same && part.axes[axis].axis == axis && !reorders(part.axes[axis]) && !part.axes[axis].uniform;
  return same;
}

/// True if the operand consists of boxes like the result, which is one of them.
bool consists_of_boxes(SourcePart const& part, Extents const& operand, Extents const& box) {
  for (int axis = 0; axis < box.size(); ++axis)
    if (operand[axis] % box[axis] != 0 || part.axes[axis].offset % box[axis] != 0) return false;
  return true;
}

/// Lists the operand's axes that the result has, numbered without the others, in the order of the result's.
Extents order_of(SourcePart const& part, int result_rank) {
  Extents order;
  Extents kept;  // operand axes that the result has, by number among them
  for (int axis = 0; axis < part.rank; ++axis)
    if (part.axes[axis].axis >= 0) kept.push_back(part.axes[axis].axis);
  for (int axis = 0; axis < result_rank; ++axis)
    for (int i = 0; i < kept.size(); ++i)
      if (kept[i] == axis) order.push_back(i);
  return order;
}

bool ascends(Extents const& list) {
  for (int i = 0; i + 1 < list.size(); ++i)
    if (list[i] > list[i + 1]) return false;
  return true;
}

Extents inverse(Extents const& permutation) {
  Extents result = permutation;
  for (int i = 0; i < permutation.size(); ++i) result[static_cast<int>(permutation[i])] = i;
  return result;
}

}  // namespace

bool relabels(Op const& op) {
  return moves_elements(op) && op.operand_count() == 1 &&
         relabels(source(op), op.operand()->type().shape(), op.result()->type().shape());
}

bool keeps_axis_order(Op const& op) { return ascends(order_of(source(op).parts[0], op.result()->type().rank())); }

bool repeats(Op const& op) {
  if (!relabels_tile(op)) return false;
  Source const source = ir::source(op);
  Extents const& shape = op.result()->type().shape();
  for (int axis = 0; axis < shape.size(); ++axis)
    if (shape[axis] != 1 && operand_axis(source.parts[0], axis) < 0) return true;
  return false;
}

bool takes_box(Op const& op) {
  if (!moves_elements(op)) return false;
  Source const source = ir::source(op);
  Extents const& result = op.result()->type().shape();
  return is_box(source, result) && consists_of_boxes(source.parts[0], op.operand()->type().shape(), result);
}

bool joins_equal_parts(Op const& op) {
  int const parts = source(op).count;
  for (int i = 1; i < parts; ++i)
    if (op.operand(i)->type().shape() != op.operand(0)->type().shape()) return false;
  return parts > 1;
}

bool takes_equal_elements(Source const& source) {
  for (SourcePart const& part : source)
    for (AxisSource const& axis : part)
      if (axis.uniform) return true;
  return false;
}

SourceTables source_tables(SourcePart const& part, Extents const& operand, Extents const& result) {
  SourceTables found;
  Extents const strides = row_major_strides(operand), own = row_major_strides(result);
  for (int axis = 0; axis < result.size(); ++axis) found.tables.emplace_back(static_cast<std::size_t>(result[axis]), 0);
  if (part.row_major) {
    for (int axis = 0; axis < result.size(); ++axis)
      for (std::int64_t x = 0; x < result[axis]; ++x)
        found.tables[static_cast<std::size_t>(axis)][static_cast<std::size_t>(x)] = x * own[axis];
    found.in_order = true;
    return found;
  }
  for (int axis = 0; axis < part.rank; ++axis) {
    AxisSource const& from = part.axes[axis];
    if (from.axis < 0) {
      found.first += from.offset * strides[axis];
      continue;
    }
    std::vector<std::int64_t>& table = found.tables[static_cast<std::size_t>(from.axis)];
    for (std::int64_t x = 0; x < result[from.axis]; ++x) {
      std::int64_t const place = from.step * (x ^ from.mask) + from.offset;
      table[static_cast<std::size_t>(x)] +=
          place < 0 || place >= operand[axis] ? SourceTables::outside : place * strides[axis];
    }
  }
  found.in_order = found.first == 0;
  for (int axis = 0; axis < result.size(); ++axis)
    for (std::int64_t x = 0; x < result[axis]; ++x)
      found.in_order =
          found.in_order && found.tables[static_cast<std::size_t>(axis)][static_cast<std::size_t>(x)] == x * own[axis];
  return found;
}

Layout const* result_layout(Op const& op, Layout const* operand) {
  if (!moves_elements(op)) return nullptr;
  Source const source = ir::source(op);
  if (source.partial) return nullptr;
  Extents const &from = op.operand(0)->type().shape(), &to = op.result()->type().shape();
  SourcePart const& part = source.parts[0];
  if (source.count > 1) {  // tiles of one shape, one after the other along an axis
    if (!joins_equal_parts(op)) return nullptr;
    for (int axis = 0; axis < to.size(); ++axis)
      if (source.parts[1].axes[axis].offset != 0) return operand->repeated(axis, source.count);
    return nullptr;
  }
  if (part.row_major) return operand->reshaped(to);
  if (relabels(source, from, to) || takes_equal_elements(source)) {
    for (int axis = 0; axis < part.rank; ++axis)
      if (part.axes[axis].uniform) operand = operand->collapsed(axis);
    for (int axis = part.rank; axis-- > 0;)
      if (part.axes[axis].axis < 0) operand = operand->squeezed(axis);
    if (Extents const order = order_of(part, to.size()); !ascends(order)) operand = operand->transposed(order);
    for (int axis = 0; axis < to.size(); ++axis) {
      if (operand_axis(part, axis) >= 0) continue;
      if (to[axis] != 1) return nullptr;
      operand = operand->expanded(axis);
    }
    return operand;
  }
  if (!is_box(source, to)) return nullptr;
  Extents offsets;
  for (AxisSource const& axis : part) offsets.push_back(axis.offset);
  return layout::part_of(*operand, to, offsets);
}

Layout const* operand_layout(Op const& op, Layout const* result) {
  if (!moves_elements(op)) return nullptr;
  Source const source = ir::source(op);
  if (source.count != 1 || source.partial || !op.operand()->type().is_tile()) return nullptr;
  Extents const &from = op.operand()->type().shape(), &to = op.result()->type().shape();
  SourcePart const& part = source.parts[0];
  if (part.row_major) return result->reshaped(from);
  if (relabels(source, from, to)) {
    for (int axis = 0; axis < to.size(); ++axis)
      if (to[axis] != 1 && operand_axis(part, axis) < 0) result = result->collapsed(axis);
    for (int axis = to.size(); axis-- > 0;)
      if (operand_axis(part, axis) < 0) result = result->squeezed(axis);
    if (Extents const order = order_of(part, to.size()); !ascends(order)) result = result->transposed(inverse(order));
    for (int axis = 0; axis < part.rank; ++axis)
      if (part.axes[axis].axis < 0) result = result->expanded(axis);
    return result;
  }
  if (!is_box(source, to) || !consists_of_boxes(part, from, to)) return nullptr;
  for (int axis = 0; axis < from.size(); ++axis) result = result->repeated(axis, from[axis] / to[axis]);
  return result;
}

}  // namespace tegula::ir

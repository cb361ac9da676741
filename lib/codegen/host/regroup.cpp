// Emits ops that give a tile another shape by placing it in memory: reshape, concatenate, extract.
#include "codegen/host/emitter.hpp"

namespace tegula::codegen::host {
namespace {

/// Gives the rows of a shape without padding: elements lie in row-major order.
Buffer without_padding(Buffer rows) {
  std::int64_t stride = 1;
  for (int axis = rows.shape.size(); axis-- > 0;) {
    rows.strides[axis] = stride;
    stride *= rows.shape[axis];
  }
  rows.exact = true;
  return rows;
}

}  // namespace

void FunctionEmitter::regroup(ir::Op const& op) {
  Extents const& shape = op.result()->type().shape();
  auto const box = [&](Buffer of, Extents const& of_shape, Extents const& offsets) {
    Index at;
    for (std::int64_t const offset : offsets) at.push_back({i64(offset), false});
    of.pointer = address(of, at);
    of.shape = of_shape;
    of.exact = true;
    return of;
  };
  if (op.is<ir::ConcatenateOp>()) {
    Buffer const result = rows(op.result()->type(), &op);
    Extents offsets;
    for (int axis = 0; axis < shape.size(); ++axis) offsets.push_back(0);
    auto const axis = static_cast<int>(op.as<ir::ConcatenateOp>().axis);
    for (ir::Value const* operand : op.operands()) {
      materialise(*operand, box(result, operand->type().shape(), offsets));
      offsets[axis] += operand->type().shape()[axis];
    }
    return set_buffer(*op.result(), result);
  }
  // The operand is copied even where it is kept: a loop may write its place before the result is used.
  Buffer const from =
      allocate(without_padding(rows_layout(op.operand()->type().element(), op.operand()->type().shape())), &op);
  materialise(*op.operand(), from);
  if (op.is<ir::ExtractOp>()) return set_buffer(*op.result(), box(from, shape, op.as<ir::ExtractOp>().offsets));
  Buffer result = from;
  result.shape = result.strides = shape;
  set_buffer(*op.result(), without_padding(result));
}

}  // namespace tegula::codegen::host

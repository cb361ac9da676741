// Emits ops that give a tile another shape by placing it in memory: reshape, concatenate, extract.
#include "codegen/host/emitter.hpp"
#include "ir/row_major.hpp"

namespace tegula::codegen::host {
namespace {

/// Gives the same memory as rows of a shape without padding: elements lie in row-major order.
Buffer without_padding(Buffer memory, Extents const& shape) {
  memory.shape = shape;
  memory.strides = ir::row_major_strides(shape);
  memory.exact = true;
  return memory;
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
  ir::Type const& type = op.operand()->type();
  Buffer const from = allocate(without_padding(rows_layout(type.element(), type.shape()), type.shape()), &op);
  materialise(*op.operand(), from);
  set_buffer(*op.result(),
             op.is<ir::ExtractOp>() ? box(from, shape, op.as<ir::ExtractOp>().offsets) : without_padding(from, shape));
}

}  // namespace tegula::codegen::host

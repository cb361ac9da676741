// Emits ops that give a tile another shape by placing it in memory: reshape, concatenate, extract,
// resize,
// butterfly.
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

/// Copies a tile into memory that holds the larger of both extents along each axis.
Buffer FunctionEmitter::resized(ir::Op const& op) {
  ir::Type const& type = op.result()->type();
  Extents const &from = op.operand()->type().shape(), &to = type.shape();
  Extents both = to;
  for (int axis = 0; axis < both.size(); ++axis) both[axis] = std::max(from[axis], to[axis]);
  Buffer memory = rows(type.with_shape(both), &op);
  memory.exact = true;
  memory.shape = from;
  materialise(*op.operand(), memory);
  memory.shape = to;
  return memory;
}

/// Copies dense rows so that neighbours trade places: runs of elements, or lanes of a vector.
Buffer FunctionEmitter::exchanged(ir::Op const& op, Buffer const& from) {
  auto const& butterfly = op.as<ir::ButterflyOp>();
  ir::Type const& type = op.result()->type();
  Buffer const to = allocate(without_padding(rows_layout(type.element(), type.shape()), type.shape()), &op);
  std::int64_t const run = butterfly.stride * from.strides[static_cast<int>(butterfly.axis)];
  llvm::Type* const held = storage_type(type.element());
  auto const size = static_cast<std::uint64_t>(storage_bytes(type.element()));
  llvm::Align const align(size);
  auto const at = [&](Buffer const& buffer, llvm::Value* i) { return b.CreateGEP(held, buffer.pointer, i); };
  std::int64_t lanes = native_lanes(type.element());
  while (type.elements() % lanes != 0) lanes /= 2;
  if (lanes > run && lanes % (2 * run) == 0) {
    std::vector<int> partner;
    for (std::int64_t lane = 0; lane < lanes; ++lane)
      partner.push_back(static_cast<int>(lane % (2 * run) < run ? lane + run : lane - run));
    llvm::Type* const vector = llvm::FixedVectorType::get(held, static_cast<unsigned>(lanes));
    loop(i64(0), i64(type.elements()), i64(lanes), [&](llvm::Value* i) {
      llvm::Value* const mine = b.CreateAlignedLoad(vector, at(from, i), align);
      b.CreateAlignedStore(b.CreateShuffleVector(mine, partner), at(to, i), align);
    });
    return to;
  }
  loop(i64(0), i64(type.elements()), i64(2 * run), [&](llvm::Value* i) {
    llvm::Value* const next = b.CreateAdd(i, i64(run));
    b.CreateMemCpy(at(to, i), align, at(from, next), align, static_cast<std::uint64_t>(run) * size);
    b.CreateMemCpy(at(to, next), align, at(from, i), align, static_cast<std::uint64_t>(run) * size);
  });
  return to;
}

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
  if (op.is<ir::ResizeOp>()) return set_buffer(*op.result(), resized(op));
  // The operand is copied even where it is kept: a loop may write its place before the result is used.
  ir::Type const& type = op.operand()->type();
  Buffer const from = allocate(without_padding(rows_layout(type.element(), type.shape()), type.shape()), &op);
  materialise(*op.operand(), from);
  if (op.is<ir::ButterflyOp>()) return set_buffer(*op.result(), exchanged(op, from));
  set_buffer(*op.result(),
             op.is<ir::ExtractOp>() ? box(from, shape, op.as<ir::ExtractOp>().offsets) : without_padding(from, shape));
}

}  // namespace tegula::codegen::host

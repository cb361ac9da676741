// Emits shape ops that place elements in memory: reshapes, boxes, joined tiles, other orders.
#include <algorithm>

#include "codegen/host/emitter.hpp"
#include "ir/memory/row_major.hpp"
#include "ir/memory/source.hpp"

namespace tegula::codegen::host {
namespace {

/// Returns the same memory as rows of a shape without padding: elements lie in row-major order.
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
Buffer FunctionEmitter::exchanged(ir::Op const& op, ir::AxisSource const& source, Buffer const& from) {
  ir::Type const& type = op.result()->type();
  Buffer const to = allocate(without_padding(rows_layout(type.element(), type.shape()), type.shape()), &op);
  std::int64_t const run = source.mask * from.strides[source.axis];
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

/// Copies dense rows so that runs of elements along an axis come in the opposite order.
Buffer FunctionEmitter::turned(ir::Op const& op, int axis, Buffer const& from) {
  ir::Type const& type = op.result()->type();
  Buffer const to = allocate(without_padding(rows_layout(type.element(), type.shape()), type.shape()), &op);
  std::int64_t const run = from.strides[axis], line = run * type.shape()[axis];
  auto const size = static_cast<std::uint64_t>(storage_bytes(type.element()));
  llvm::Align const align(size);
  auto const at = [&](Buffer const& buffer, llvm::Value* i) {
    return b.CreateGEP(storage_type(type.element()), buffer.pointer, i);
  };
  loop(i64(0), i64(type.elements()), i64(line), [&](llvm::Value* first) {
    llvm::Value* const last = b.CreateAdd(first, i64(line - run));
    loop(i64(0), i64(line), i64(run), [&](llvm::Value* i) {
      b.CreateMemCpy(at(to, b.CreateAdd(first, i)), align, at(from, b.CreateSub(last, i)), align,
                     static_cast<std::uint64_t>(run) * size);
    });
  });
  return to;
}

void FunctionEmitter::regroup(ir::Op const& op) {
  ir::Source const source = ir::source(op);
  Extents const& shape = op.result()->type().shape();
  auto const box = [&](Buffer of, Extents const& of_shape, ir::SourcePart const& part, std::int64_t sign) {
    Index at;
    for (ir::AxisSource const& axis : part) at.push_back({i64(sign * axis.offset), false});
    of.pointer = address(of, at);
    of.shape = of_shape;
    of.exact = true;
    return of;
  };
  if (source.count > 1) {
    Buffer const result = rows(op.result()->type(), &op);
    for (ir::SourcePart const& part : source) {
      ir::Value const& operand = *op.operand(part.operand);
      materialise(operand, box(result, operand.type().shape(), part, -1));
    }
    return set_buffer(*op.result(), result);
  }
  if (source.partial) return set_buffer(*op.result(), resized(op));
  // The operand is copied even where it is kept: a loop may write its place before the result is used.
  ir::Type const& type = op.operand()->type();
  Buffer const from = allocate(without_padding(rows_layout(type.element(), type.shape()), type.shape()), &op);
  materialise(*op.operand(), from);
  ir::SourcePart const& part = source.parts[0];
  if (part.row_major) return set_buffer(*op.result(), without_padding(from, shape));
  if (auto const* const other = std::find_if(part.begin(), part.end(), ir::reorders); other != part.end())
    return set_buffer(*op.result(), other->mask != 0 ? exchanged(op, *other, from) : turned(op, other->axis, from));
  set_buffer(*op.result(), box(from, shape, part, 1));
}

}  // namespace tegula::codegen::host

// Lowers coordinates, and shape ops by their sources.
#include <llvm/IR/IRBuilder.h>

#include "codegen/nvptx/emitter.hpp"
#include "codegen/nvptx/exchange_tile.hpp"
#include "codegen/nvptx/inline_ptx.hpp"
#include "codegen/nvptx/module_memory.hpp"
#include "codegen/nvptx/pack_words.hpp"
#include "ir/memory/exchange.hpp"
#include "ir/memory/source.hpp"
#include "ir/memory/row_major.hpp"
#include "ir/values/table.hpp"
#include "layout/parts.hpp"

namespace tegula::codegen::nvptx {
namespace {

/// Gathers the registers of several operands.
void gather_parts(ir::Op const& op, ir::Source const& source, Emitter& e) {
  layout::Layout const& whole = *op.result()->type().layout();
  Registers result(static_cast<std::size_t>(whole.registers()));
  for (ir::SourcePart const& from : source) {
    ir::Value const& operand = *op.operand(from.operand);
    Registers const& part = e.get(operand);
    Extents offsets;
    for (ir::AxisSource const& axis : from) offsets.push_back(-axis.offset);
    std::vector<int> const to = layout::registers_of_part(whole, *operand.type().layout(), offsets);
    if (to.empty()) refuse(op, "an operand has a layout in other threads; convert it first");
    for (std::size_t i = 0; i < to.size(); ++i) result[static_cast<std::size_t>(to[i])] = part[i];
  }
  // Registers that hold copies.
  for (int reg = 0; reg < whole.registers(); ++reg)
    for (int first = 0; result[static_cast<std::size_t>(reg)] == nullptr; ++first)
      if (first != reg && whole.part(layout::Dim::reg, first) == whole.part(layout::Dim::reg, reg))
        result[static_cast<std::size_t>(reg)] = result[static_cast<std::size_t>(first)];
  e.set(*op.result(), std::move(result));
}

}  // namespace

void lower_shape(ir::Op const& op, Emitter& e) {
  if (!op.operand(0)->type().is_tile()) {
    auto const count = static_cast<std::size_t>(op.result()->type().layout()->registers());
    return e.set(*op.result(), Registers(count, e.scalar(*op.operand())));
  }
  if (ir::Source const source = ir::source(op); source.count > 1) return gather_parts(op, source, e);
  if (move_tile_within_threads(op, e) || move_tile_within_warps(op, e)) return;
  if (ir::scratch_attribute(op) == nullptr)
    refuse(op, "the result has a layout in other threads; convert the operand first");
  exchange_tile(op, e);
}

void lower(ir::IotaOp const& attributes, ir::Op const& op, Emitter& e) {
  ir::Type const& type = op.result()->type();
  Registers result;
  for (int reg = 0; reg < type.layout()->registers(); ++reg)
    result.push_back(e.b.CreateZExt(e.coordinates.of_register(*type.layout(), static_cast<int>(attributes.axis), reg),
                                    e.type(type.element())));
  e.set(*op.result(), std::move(result));
}

void lower(ir::ItemOp const&, ir::Op const& op, Emitter& e) {
  // All lanes hold the element; the shuffle tells ptxas so, which then branches without a test of each lane.
  Element const element = op.result()->type().element();
  e.set(*op.result(), {e.shuffle_from(e.get(*op.operand())[0], element, e.i32(0))});
}

void lower(ir::TableOp const& attributes, ir::Op const& op, Emitter& e) {
  ir::Type const& type = op.result()->type();
  layout::Layout const& layout = *type.layout();
  Element const element = type.element();
  llvm::GlobalVariable& memory = constant_memory(e, "tegula_table", ir::table_bytes(attributes));
  Extents const strides = ir::row_major_strides(type.shape());
  // The address is one that all registers share, and a constant for each, but along axes where the two overlap.
  llvm::Value* base = e.b.CreatePtrToInt(&memory, e.b.getInt64Ty());
  auto const along = [&](llvm::Value* address, llvm::Value* coordinate, int axis) {
    llvm::Value* const at = e.b.CreateZExt(coordinate, e.b.getInt64Ty());
    return e.b.CreateAdd(address, e.b.CreateMul(at, e.i64(strides[axis] * bytes(element))));
  };
  std::vector<bool> shared;
  for (int axis = 0; axis < layout.rank(); ++axis) {
    AxisCoordinate const& part = e.coordinates.of(layout)[static_cast<std::size_t>(axis)];
    bool disjoint = true;
    for (int reg = 0; reg < layout.registers(); ++reg)
      disjoint = disjoint && (part.thread_bits & layout.part(layout::Dim::reg, reg)[axis]) == 0;
    shared.push_back(disjoint);
    if (disjoint && part.thread != nullptr) base = along(base, part.thread, axis);
  }
  int const last = layout.rank() - 1;
  std::int64_t width = std::min<std::int64_t>(layout.contiguous(last), 16 / bytes(element));
  while (type.shape()[last] % width != 0) width /= 2;
  Words const words = words_for(element, static_cast<int>(width));
  Registers result;
  for (int reg = 0; reg < layout.registers(); reg += static_cast<int>(width)) {
    Extents const part = layout.part(layout::Dim::reg, reg);
    llvm::Value* address = base;
    std::int64_t constant = 0;
    for (int axis = 0; axis <= last; ++axis)
      if (shared[static_cast<std::size_t>(axis)])
        constant += part[axis] * strides[axis] * bytes(element);
      else
        address = along(address, e.coordinates.of_register(layout, axis, reg), axis);
    llvm::Value* const zero = e.constant({element, 0});
    std::vector<llvm::Value*> const none(static_cast<std::size_t>(words.elements), zero);
    Registers otherwise;
    for (std::int64_t at = 0; at < width; at += words.elements)
      otherwise.push_back(pack_word(e, element, words, none.data()));
    for (llvm::Value* word : load_vector(e.b, "global.nc", nullptr, address, constant, otherwise, words.bits))
      unpack_word(e, element, words, word, result);
  }
  e.set(*op.result(), std::move(result));
}

}  // namespace tegula::codegen::nvptx

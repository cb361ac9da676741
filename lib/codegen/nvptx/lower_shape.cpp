// Lowers coordinates, and shape ops by their sources.
#include <llvm/IR/IRBuilder.h>

#include "codegen/nvptx/emitter.hpp"
#include "codegen/nvptx/exchange_tile.hpp"
#include "ir/exchange.hpp"
#include "ir/source.hpp"
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
    result.push_back(
        e.b.CreateZExt(e.coordinate(*type.layout(), static_cast<int>(attributes.axis), reg), e.type(type.element())));
  e.set(*op.result(), std::move(result));
}

}  // namespace tegula::codegen::nvptx

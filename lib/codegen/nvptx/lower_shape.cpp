// Lowers splats, coordinates, broadcasts, relabelled axes, and ops that give tiles other shapes.
#include <llvm/IR/IRBuilder.h>

#include "codegen/nvptx/emitter.hpp"
#include "codegen/nvptx/exchange_tile.hpp"
#include "layout/parts.hpp"
#include "tegula/support/error.hpp"

namespace tegula::codegen::nvptx {
namespace {

/// Relabels: the result's layout is the operand's up to a relabelling that `seen` states. Only registers may be
/// permuted.
void relabel(ir::Op const& op, layout::Layout const* seen, Emitter& e) {
  std::vector<int> const from = op.result()->type().layout()->registers_from(*seen);
  if (from.empty()) refuse(op, "the result has a layout in other threads; convert the operand first");
  Registers const& operand = e.get(*op.operand());
  Registers result;
  for (int reg : from) result.push_back(operand[static_cast<std::size_t>(reg)]);
  e.set(*op.result(), std::move(result));
}

}  // namespace

void lower(ir::SplatOp const&, ir::Op const& op, Emitter& e) {
  auto const count = static_cast<std::size_t>(op.result()->type().layout()->registers());
  e.set(*op.result(), Registers(count, e.scalar(*op.operand())));
}

void lower(ir::IotaOp const& attributes, ir::Op const& op, Emitter& e) {
  ir::Type const& type = op.result()->type();
  Registers result;
  for (int reg = 0; reg < type.layout()->registers(); ++reg)
    result.push_back(
        e.b.CreateZExt(e.coordinate(*type.layout(), static_cast<int>(attributes.axis), reg), e.type(type.element())));
  e.set(*op.result(), std::move(result));
}

void lower(ir::BroadcastOp const&, ir::Op const& op, Emitter& e) {
  ir::Type const& from = op.operand()->type();
  layout::Layout const& to = *op.result()->type().layout();
  // The result seen with the repeated axes collapsed has the operand's elements in the same threads.
  layout::Layout const* collapsed = &to;
  for (int axis = 0; axis < from.rank(); ++axis)
    if (from.shape()[axis] == 1) collapsed = collapsed->collapsed(axis);
  std::vector<int> const registers = collapsed->without_register_copies()->registers_from(*from.layout());
  if (registers.empty()) refuse(op, "the operand has a layout in other threads; convert it first");
  layout::Layout const& distinct = *collapsed->without_register_copies();
  std::vector<Extents> parts;
  for (int reg = 0; reg < distinct.registers(); ++reg) parts.push_back(distinct.part(layout::Dim::reg, reg));
  Registers const& operand = e.get(*op.operand());
  Registers result;
  for (int reg = 0; reg < to.registers(); ++reg) {
    Extents wanted = to.part(layout::Dim::reg, reg);
    for (int axis = 0; axis < from.rank(); ++axis)
      if (from.shape()[axis] == 1) wanted[axis] = 0;
    std::size_t found = 0;
    while (found < parts.size() && parts[found] != wanted) ++found;
    if (found == parts.size()) throw InternalError("nvptx: broadcast: a register has no source");
    result.push_back(operand[static_cast<std::size_t>(registers[found])]);
  }
  e.set(*op.result(), std::move(result));
}

void lower(ir::ExpandDimsOp const& attributes, ir::Op const& op, Emitter& e) {
  layout::Layout const* seen = op.operand()->type().layout();
  for (std::int64_t axis : attributes.axes) seen = seen->expanded(static_cast<int>(axis));
  relabel(op, seen, e);
}

void lower(ir::SqueezeOp const& attributes, ir::Op const& op, Emitter& e) {
  layout::Layout const* seen = op.operand()->type().layout();
  for (int i = attributes.axes.size(); i-- > 0;) seen = seen->squeezed(static_cast<int>(attributes.axes[i]));
  relabel(op, seen, e);
}

void lower(ir::TransOp const& attributes, ir::Op const& op, Emitter& e) {
  relabel(op, op.operand()->type().layout()->transposed(attributes.permutation), e);
}

void lower(ir::ReshapeOp const&, ir::Op const& op, Emitter& e) {
  if (!move_tile_within_threads(op, e)) exchange_tile(op, e);
}

void lower(ir::ResizeOp const&, ir::Op const& op, Emitter& e) {
  if (!move_tile_within_threads(op, e)) exchange_tile(op, e);
}

void lower(ir::ConcatenateOp const& attributes, ir::Op const& op, Emitter& e) {
  layout::Layout const& whole = *op.result()->type().layout();
  Registers result(static_cast<std::size_t>(whole.registers()));
  Extents offsets;
  for (int axis = 0; axis < whole.rank(); ++axis) offsets.push_back(0);
  for (ir::Value const* operand : op.operands()) {
    Registers const& part = e.get(*operand);
    std::vector<int> const to = layout::registers_of_part(whole, *operand->type().layout(), offsets);
    if (to.empty()) refuse(op, "an operand has a layout in other threads; convert it first");
    for (std::size_t i = 0; i < to.size(); ++i) result[static_cast<std::size_t>(to[i])] = part[i];
    auto const axis = static_cast<int>(attributes.axis);
    offsets[axis] += operand->type().shape()[axis];
  }
  // Registers that hold copies.
  for (int reg = 0; reg < whole.registers(); ++reg)
    for (int first = 0; result[static_cast<std::size_t>(reg)] == nullptr; ++first)
      if (first != reg && whole.part(layout::Dim::reg, first) == whole.part(layout::Dim::reg, reg))
        result[static_cast<std::size_t>(reg)] = result[static_cast<std::size_t>(first)];
  e.set(*op.result(), std::move(result));
}

void lower(ir::ExtractOp const&, ir::Op const& op, Emitter& e) {
  if (!move_tile_within_threads(op, e)) exchange_tile(op, e);
}

}  // namespace tegula::codegen::nvptx

#include "codegen/nvptx/hazards.hpp"

#include <algorithm>

#include "ir/builder.hpp"
#include "ir/exchange.hpp"
#include "ir/value_memo.hpp"
#include "support/checked_integer.hpp"

namespace tegula::codegen::nvptx {
namespace {

using ir::LoadOp;
using ir::Op;
using ir::StoreOp;

ir::Type const& tile_of(Op const& op) { return op.is<LoadOp>() ? op.result()->type() : op.operand(1)->type(); }

std::span<ir::Value* const> offsets_of(Op const& op) { return op.operands().subspan(op.is<LoadOp>() ? 1 : 2); }

bool same_offsets(Op const& a, Op const& b) {
  return std::equal(offsets_of(a).begin(), offsets_of(a).end(), offsets_of(b).begin(), offsets_of(b).end());
}

/// Both ops touch the same elements in the same threads.
bool same_elements(Op const& a, Op const& b) {
  return tile_of(a) == tile_of(b) && tile_of(a).layout()->injective() && same_offsets(a, b);
}

bool is_inside(ir::Value const& value, Op const& loop) {
  ir::Block const* block = value.defining_op() != nullptr ? value.defining_op()->parent() : value.owner_block();
  for (; block != nullptr && block->parent_op() != nullptr; block = block->parent_op()->parent())
    if (block->parent_op() == &loop) return true;
  return false;
}

/// By how much a value grows in each turn of a loop; 0: not at all; -1: not known.
std::int64_t growth(ir::Value const& value, Op const& loop) {
  ir::ValueMemo<std::int64_t> memo;
  auto const needs = [&](ir::Value const& of, auto const& visit) {
    if (is_inside(of, loop)) ir::operands_of(of, visit);
  };
  auto const known = [](support::Checked grows) { return grows.fits() ? grows.value() : -1; };
  return memo.of(value, needs, [&](ir::Value const& of) -> std::int64_t {
    if (!is_inside(of, loop)) return 0;
    if (&of == loop.block().argument(0))
      return std::max<std::int64_t>(ir::constant_int(*loop.operand(2)).value_or(-1), -1);
    Op const* const op = of.defining_op();
    if (op == nullptr || op->operand_count() != 2) return -1;
    std::int64_t const lhs = memo.at(*op->operand(0)), rhs = memo.at(*op->operand(1));
    if (op->is<ir::AddOp>() && lhs >= 0 && rhs >= 0) return known(support::Checked(lhs) + rhs);
    if (op->is<ir::SubOp>() && lhs >= 0 && rhs == 0) return lhs;
    if (op->is<ir::MulOp>()) {
      std::int64_t const left = ir::constant_int(*op->operand(0)).value_or(-1),
                         right = ir::constant_int(*op->operand(1)).value_or(-1);
      if (right >= 0 && lhs >= 0) return known(support::Checked(lhs) * right);
      if (left >= 0 && rhs >= 0) return known(support::Checked(rhs) * left);
    }
    return -1;
  });
}

/// Boxes at the same offsets in different turns of a loop never meet, because one offset grows by a whole box.
bool boxes_move_on(Op const& a, Op const& b, Op const& loop) {
  Extents const& shape = tile_of(a).shape();
  if (shape != tile_of(b).shape() || !same_offsets(a, b)) return false;
  auto const offsets = offsets_of(a);
  int const lead = static_cast<int>(offsets.size()) - shape.size();
  for (int axis = 0; axis < static_cast<int>(offsets.size()); ++axis)
    if (growth(*offsets[static_cast<std::size_t>(axis)], loop) >= (axis < lead ? 1 : shape[axis - lead])) return true;
  return false;
}

std::int64_t scratch_of(Op const& op) {
  if (op.is<ir::ReduceOp>()) return op.as<ir::ReduceOp>().scratch;
  if (op.is<ir::ConvertLayoutOp>()) return op.as<ir::ConvertLayoutOp>().scratch;
  return -1;
}

}  // namespace

/// Only tensors that the kernel may write take part: an `in` never aliases a written parameter.
bool Hazards::tracked(Op const& op) const {
  if (scratch_only_ || (!op.is<LoadOp>() && !op.is<StoreOp>())) return false;
  ir::Value const& tensor = *op.operand(0);
  ir::Block const* block = tensor.owner_block();
  if (block == nullptr || block->parent_function() == nullptr) return true;
  auto const& attributes = block->parent_function()->parameter_attributes();
  return attributes[static_cast<std::size_t>(tensor.index())].direction != Direction::in;
}

bool Hazards::barrier_before(Op const& op) const {
  if (std::int64_t const begin = scratch_of(op); begin >= 0) {
    std::int64_t const end = begin + ir::scratch_bytes(op);
    return std::any_of(shared_.begin(), shared_.end(),
                       [&](Interval const& used) { return begin < used.end && used.begin < end; });
  }
  if (!tracked(op)) return false;
  return std::any_of(global_.begin(), global_.end(), [&](Access const& access) {
    if (access.op->operand(0) != op.operand(0) || (access.op->is<LoadOp>() && op.is<LoadOp>())) return false;
    return access.loop != nullptr ? !boxes_move_on(*access.op, op, *access.loop) : !same_elements(*access.op, op);
  });
}

void Hazards::record(Op const& op) {
  if (std::int64_t const begin = scratch_of(op); begin >= 0) {
    // The exchange holds a barrier between its writes and its reads, which closes everything before it.
    global_.clear();
    shared_ = {{begin, begin + ir::scratch_bytes(op)}};
    return;
  }
  bool const meets_all = op.is<ir::BarrierOp>() && op.operand_count() == 0;
  if (meets_all || barrier_before(op)) *this = Hazards(scratch_only_);
  if (tracked(op)) global_.push_back({&op, nullptr});
}

void Hazards::join(Hazards const& other) {
  for (Access const& access : other.global_)
    if (std::find(global_.begin(), global_.end(), access) == global_.end()) global_.push_back(access);
  for (Interval const& interval : other.shared_)
    if (std::find(shared_.begin(), shared_.end(), interval) == shared_.end()) shared_.push_back(interval);
}

Hazards Hazards::at_loop_start(Op const& loop) const {
  Hazards result = *this;
  for (int round = 0; round < 2; ++round) {
    Hazards back = result.after(loop.block());
    for (Access& access : back.global_) access.loop = &loop;
    result.join(back);
  }
  return result;
}

Hazards Hazards::after(ir::Block const& block) const {
  Hazards state = *this;
  for (Op const& op : block) {
    if (op.block_count() == 0) {
      state.record(op);
    } else if (op.is<ir::ForOp>() || op.is<ir::RepeatOp>()) {
      state = state.at_loop_start(op);
    } else {
      Hazards joined(scratch_only_);
      for (int i = 0; i < op.block_count(); ++i) joined.join(state.after(op.block(i)));
      state = joined;
    }
  }
  return state;
}

}  // namespace tegula::codegen::nvptx

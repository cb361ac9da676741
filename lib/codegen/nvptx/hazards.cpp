#include "codegen/nvptx/hazards.hpp"

#include <algorithm>

#include "ir/exchange.hpp"

namespace tegula::codegen::nvptx {
namespace {

using ir::LoadOp;
using ir::Op;
using ir::StoreOp;

/// Only tensors that the kernel may write take part: an `in` never aliases a written parameter.
bool tracked(Op const& op) {
  if (!op.is<LoadOp>() && !op.is<StoreOp>()) return false;
  ir::Value const& tensor = *op.operand(0);
  ir::Block const* block = tensor.owner_block();
  if (block == nullptr || block->parent_function() == nullptr) return true;
  auto const& attributes = block->parent_function()->parameter_attributes();
  return attributes[static_cast<std::size_t>(tensor.index())].direction != Direction::in;
}

ir::Type const& tile_of(Op const& op) { return op.is<LoadOp>() ? op.result()->type() : op.operand(1)->type(); }

/// Both ops touch the same elements in the same threads.
bool same_elements(Op const& a, Op const& b) {
  if (tile_of(a) != tile_of(b) || !tile_of(a).layout()->injective()) return false;
  auto const offsets = [](Op const& op) { return op.operands().subspan(op.is<LoadOp>() ? 1 : 2); };
  return std::equal(offsets(a).begin(), offsets(a).end(), offsets(b).begin(), offsets(b).end());
}

std::int64_t scratch_of(Op const& op) {
  if (op.is<ir::ReduceOp>()) return op.as<ir::ReduceOp>().scratch;
  if (op.is<ir::ConvertLayoutOp>()) return op.as<ir::ConvertLayoutOp>().scratch;
  return -1;
}

}  // namespace

bool Hazards::barrier_before(Op const& op) const {
  if (std::int64_t const begin = scratch_of(op); begin >= 0) {
    std::int64_t const end = begin + ir::scratch_bytes(op);
    return std::any_of(shared_.begin(), shared_.end(), [&](Interval const& used) { return begin < used.end && used.begin < end; });
  }
  if (!tracked(op)) return false;
  return std::any_of(global_.begin(), global_.end(), [&](Access const& access) {
    if (access.op->operand(0) != op.operand(0) || (access.op->is<LoadOp>() && op.is<LoadOp>())) return false;
    return access.earlier_iteration || !same_elements(*access.op, op);
  });
}

void Hazards::record(Op const& op) {
  if (std::int64_t const begin = scratch_of(op); begin >= 0) {
    // The exchange holds a barrier between its writes and its reads, which closes everything before it.
    global_.clear();
    shared_ = {{begin, begin + ir::scratch_bytes(op)}};
    return;
  }
  if (barrier_before(op)) *this = {};
  if (tracked(op)) global_.push_back({&op, false});
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
    for (Access& access : back.global_) access.earlier_iteration = true;
    result.join(back);
  }
  return result;
}

Hazards Hazards::after(ir::Block const& block) const {
  Hazards state = *this;
  for (Op const& op : block) {
    if (op.block_count() == 0) {
      state.record(op);
    } else if (op.is<ir::ForOp>()) {
      state = state.at_loop_start(op);
    } else {
      Hazards joined;
      for (int i = 0; i < op.block_count(); ++i) joined.join(state.after(op.block(i)));
      state = joined;
    }
  }
  return state;
}

}  // namespace tegula::codegen::nvptx

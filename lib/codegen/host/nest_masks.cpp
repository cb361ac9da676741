// Finds comparisons of a nest that hold in a run of its vector axis, such as `iota < extent`: the loop over that run
// does without them.
#include <algorithm>

#include "codegen/host/nest.hpp"
#include "ir/values/predicate.hpp"

namespace tegula::codegen::host {

/// True when the value differs from lane to lane.
bool Nest::varies(ir::Value const& value, Map const& map) const {
  if (std::find(map.begin(), map.end(), axis_) == map.end()) return false;
  if (e_.buffer_of(value) != nullptr || e_.panels_of(value) != nullptr) return true;
  ir::Op const& op = *value.defining_op();
  if (op.is<ir::IotaOp>()) return map[static_cast<std::size_t>(op.as<ir::IotaOp>().axis)] == axis_;
  if (reads_tensor(op)) return true;
  auto const key = std::make_pair(&value, map);
  if (auto const found = varying_.find(key); found != varying_.end()) return found->second;
  bool result = false;
  for (int i = 0; i < op.operand_count() && !result; ++i)
    result = op.operand(i)->type().is_tile() && varies(*op.operand(i), operand_index(op, i, map, -1));
  return varying_[key] = result;
}

/// True when the value grows by 1 from lane to lane, but for overflow.
bool Nest::counts(ir::Value const& value, Map const& map) const {
  if (value.defining_op() == nullptr) return false;
  ir::Op const& op = *value.defining_op();
  if (op.is<ir::IotaOp>()) return varies(value, map);
  if (ir::moves_elements(op))
    return ir::relabels(op) && op.operand()->type().is_tile() && counts(*op.operand(), operand_index(op, 0, map, -1));
  if (!op.is<ir::AddOp>() && !op.is<ir::SubOp>()) return false;
  Map const left = operand_index(op, 0, map, -1);
  Map const right = operand_index(op, 1, map, -1);
  if (counts(*op.lhs(), left)) return !varies(*op.rhs(), right);
  return op.is<ir::AddOp>() && counts(*op.rhs(), right) && !varies(*op.lhs(), left);
}

void Nest::find_range_masks() {
  if (is_long()) return;
  for (auto const& [op, map] : comparisons_) {
    auto const same = [op = op](auto const& other) { return other.first == op; };
    if (std::count_if(comparisons_.begin(), comparisons_.end(), same) != 1) continue;
    Element const element = op->lhs()->type().element();
    if (element != Element::i64 && element != Element::i32) continue;
    bool const right_moves = varies(*op->rhs(), operand_index(*op, 1, map, -1));
    ir::Predicate const stated = op->as<ir::CompareOp>().predicate;
    ir::Predicate const predicate = right_moves ? ir::swapped(stated) : stated;
    if (predicate == ir::Predicate::eq || predicate == ir::Predicate::ne) continue;
    int const moving = right_moves ? 1 : 0;
    if (!counts(*op->operand(moving), operand_index(*op, moving, map, -1))) continue;
    if (varies(*op->operand(1 - moving), operand_index(*op, 1 - moving, map, -1))) continue;
    range_masks_.push_back({op, map, moving, predicate});
  }
}

/// Emits the place along the vector axis where a range mask changes in this row, and whether its moving side may wrap
/// within the row.
Nest::MaskEdge Nest::edge_of(RangeMask const& mask) {
  // Evaluates the operands at lane 0 of the row.
  Index index;
  for (std::size_t i = 0; i < mask.map.size(); ++i) {
    int const axis = mask.map[i];
    bool const row = axis >= 0 && axis != axis_;
    index.push_back({row ? at_[static_cast<std::size_t>(axis)] : e_.i64(0), false});
  }
  auto const operand = [&](int i) {
    ir::Value const& value = *mask.op->operand(i);
    llvm::Value* const number = eval(value, operand_index(*mask.op, i, index, Axis{e_.i64(0), false}));
    return b_.CreateSExt(number, b_.getInt64Ty());
  };
  llvm::Value* const first = operand(mask.moving);
  llvm::Value* const limit = operand(1 - mask.moving);
  auto const saturated = [&](llvm::Intrinsic::ID id, llvm::Value* x, llvm::Value* y) {
    return b_.CreateBinaryIntrinsic(id, x, y);
  };
  llvm::Value* at = saturated(llvm::Intrinsic::ssub_sat, limit, first);
  if (mask.predicate == ir::Predicate::le || mask.predicate == ir::Predicate::gt)
    at = saturated(llvm::Intrinsic::sadd_sat, at, e_.i64(1));
  std::int64_t const last_start = max_integer(mask.op->lhs()->type().element()) - shape_[axis_];
  return {at, b_.CreateICmpSLE(first, e_.i64(last_start))};
}

/// Limits [from, to) of the vector axis to where all range masks of the row hold.
void Nest::limit_to_masks(llvm::Value*& from, llvm::Value*& to) {
  for (RangeMask const& mask : range_masks_) {
    MaskEdge const edge = edge_of(mask);
    if (ends(mask)) {
      to = e_.smin(to, e_.smax(edge.at, e_.i64(0)));
    } else {
      from = e_.smax(from, edge.at);
    }
    to = b_.CreateSelect(edge.exact, to, e_.i64(0));
  }
}

}  // namespace tegula::codegen::host

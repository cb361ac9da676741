// Finds rows whose end has one value: behind the last element of a tensor a load gives its pad, and masks no longer
// change. The value is computed once there, and not in every vector. So a row that is shorter than its tile costs
// little more than its elements.
#include <algorithm>

#include "codegen/host/nest.hpp"

namespace tegula::codegen::host {
namespace {

/// True where combining an element twice does no more than once.
bool is_idempotent(ir::Combine how) { return how == ir::Combine::max || how == ir::Combine::min; }

}  // namespace

Nest::RangeMask const* Nest::range_mask(ir::Op const& op) const {
  auto const found =
      std::find_if(range_masks_.begin(), range_masks_.end(), [&](RangeMask const& mask) { return mask.op == &op; });
  return found == range_masks_.end() ? nullptr : &*found;
}

bool Nest::settles(ir::Value const& value, Map const& map, Settling& needs) const {
  auto const key = std::make_pair(&value, map);
  if (auto const found = needs.seen.find(key); found != needs.seen.end()) return found->second;
  bool const kept = e_.buffer_of(value) != nullptr || e_.panels_of(value) != nullptr;
  bool const result = !varies(value, map) || (!kept && op_settles(*value.defining_op(), map, needs));
  return needs.seen[key] = result;
}

bool Nest::op_settles(ir::Op const& op, Map const& map, Settling& needs) const {
  if (op.is<ir::LoadOp>()) {
    needs.loads.insert(&op);
    return true;
  }
  if (range_mask(op) != nullptr) {
    needs.masks.insert(&op);
    return true;
  }
  if (!op.is(ir::Family::elementwise) && !ir::moves_elements(op)) return false;
  auto const operand = [&](int i) {
    return !op.operand(i)->type().is_tile() || settles(*op.operand(i), operand_index(op, i, map, -1), needs);
  };
  if (op.is<ir::SelectOp>() && op.operand(0)->defining_op() != nullptr)
    if (RangeMask const* const mask = range_mask(*op.operand(0)->defining_op())) {
      needs.masks.insert(mask->op);
      return operand(ends(*mask) ? 2 : 1);
    }
  for (int i = 0; i < op.operand_count(); ++i)
    if (!operand(i)) return false;
  return true;
}

void Nest::find_tail() {
  if (is_long()) return;
  if (clipped_ || !limits_.empty() || group_size() > 1 || width_ == 1 || shape_[axis_] < 2 * width_) return;
  Settling needs;
  Map const whole = whole_map();
  for (Sink const& sink : sinks_)
    if (sink.kind == Sink::Kind::scatter || !takes_vectors(sink) || !settles(*sink.value, whole, needs)) return;
  if (!needs.loads.empty() || !needs.masks.empty()) tail_ = needs;
}

/// Emits the place along the vector axis from which on the values are settled: of this row, or beyond it.
llvm::Value* Nest::tail_start() {
  llvm::Value* start = lower_[static_cast<std::size_t>(axis_)];
  auto const behind = [&](ir::Op const& access, Map const& map) {
    std::vector<Bound> bounds;
    scan_access(access, map, bounds);
    for (Bound const& bound : bounds) {
      if (bound.axis != axis_) continue;
      llvm::Value* const extent = e_.tensor(*bound.tensor).extents[static_cast<std::size_t>(bound.tensor_axis)];
      start = e_.smax(start, b_.CreateSub(extent, e_.scalar(*bound.offset)));
    }
  };
  for (auto const& [op, map] : reads_)
    if (tail_->loads.contains(op)) behind(*op, map);
  for (Sink const& sink : sinks_)
    if (sink.kind == Sink::Kind::store) behind(*sink.op, whole_map());
  for (RangeMask const& mask : range_masks_) {
    if (!tail_->masks.contains(mask.op)) continue;
    MaskEdge const edge = edge_of(mask);
    start = e_.smax(start, b_.CreateSelect(edge.exact, edge.at, upper_[static_cast<std::size_t>(axis_)]));
  }
  return start;
}

/// True for a value that is 0 behind the ends of its loads, which alone it needs.
bool Nest::is_zero_behind(ir::Value const& value, Map const& map, std::set<ir::Op const*>& loads) const {
  if (e_.buffer_of(value) != nullptr || e_.panels_of(value) != nullptr || value.defining_op() == nullptr) return false;
  ir::Op const& op = *value.defining_op();
  if (op.is<ir::LoadOp>()) {
    loads.insert(&op);
    return op.as<ir::LoadOp>().pad.bits == 0;
  }
  if (!op.is<ir::CastOp>() && !op.is<ir::AddOp>() && !ir::relabels(op)) return false;
  for (int i = 0; i < op.operand_count(); ++i)
    if (!op.operand(i)->type().is_tile() || !is_zero_behind(*op.operand(i), operand_index(op, i, map, -1), loads))
      return false;
  return true;
}

/// Emits the end of the loop over an outer axis: rows behind the ends of all loads add 0 to sums of rows, and the first
/// of them is as good as all. Stores drop such rows.
llvm::Value* Nest::outer_end(std::size_t level) {
  llvm::Value* const whole = upper_[level];
  if (clipped_ || group_size() > 1) return whole;
  std::set<ir::Op const*> loads;
  for (Sink const& sink : sinks_) {
    if (sink.kind == Sink::Kind::store) continue;
    if (sink.kind != Sink::Kind::reduce) return whole;
    ir::ReduceOp const reduce = sink.op->as<ir::ReduceOp>();
    if (reduce.combine != ir::Combine::sum || static_cast<std::size_t>(reduce.axis) != level ||
        !is_zero_behind(*sink.value, whole_map(), loads))
      return whole;
  }
  llvm::Value* end = e_.i64(0);
  auto const ends_there = [&](ir::Op const& access, Map const& map) {
    std::vector<Bound> bounds;
    scan_access(access, map, bounds);
    bool bounded = false;
    for (Bound const& bound : bounds) {
      if (bound.axis != static_cast<int>(level)) continue;
      llvm::Value* const extent = e_.tensor(*bound.tensor).extents[static_cast<std::size_t>(bound.tensor_axis)];
      end = e_.smax(end, b_.CreateSub(extent, e_.scalar(*bound.offset)));
      bounded = true;
    }
    return bounded;
  };
  for (auto const& [op, map] : reads_)
    if (loads.contains(op) && !ends_there(*op, map)) return whole;
  for (Sink const& sink : sinks_)
    if (sink.kind == Sink::Kind::store && !ends_there(*sink.op, whole_map())) return whole;
  return e_.smin(whole, b_.CreateAdd(end, e_.i64(1)));
}

void Nest::tail(llvm::AllocaInst* position) {
  llvm::Value* const from = e_.get(position);
  llvm::Value* const length = b_.CreateSub(upper_[static_cast<std::size_t>(axis_)], from);
  llvm::Value* const to = b_.CreateAdd(from, b_.CreateAnd(length, e_.i64(-width_)));
  FunctionEmitter::Scope const scope(e_);
  known_.emplace_back();
  lanes_ = width_;
  checked_ = false;
  mask_ = nullptr;
  in_tail_ = true;
  Index index;
  for (llvm::Value* at : at_) index.push_back({at, false});
  index[static_cast<std::size_t>(axis_)] = {from, true};
  std::vector<llvm::Value*> values;
  for (Sink const& sink : sinks_) values.push_back(splat(eval(*sink.value, index)));
  in_tail_ = false;
  known_.pop_back();
  for (std::size_t i = 0; i < sinks_.size(); ++i) tail_sink(i, values[i], from, to);
  b_.CreateStore(to, position);
}

/// Uses a settled value in the whole vectors of [from, to), of which there is at least one. Stores drop it there.
void Nest::tail_sink(std::size_t number, llvm::Value* value, llvm::Value* from, llvm::Value* to) {
  Sink const& one = sinks_[number];
  Index index;
  for (llvm::Value* at : at_) index.push_back({at, false});
  auto const use = [&](llvm::Value* x) {
    index[static_cast<std::size_t>(axis_)] = {x, true};
    lanes_ = width_;
    mask_ = nullptr;
    sink(one, number, value, index, 0);
  };
  auto const everywhere = [&] { e_.loop(from, to, e_.i64(width_), use); };
  if (one.kind == Sink::Kind::store) return;  // all outside of the tensor
  if (one.kind != Sink::Kind::reduce || one.op->as<ir::ReduceOp>().axis != axis_) return everywhere();
  ir::Combine const how = one.op->as<ir::ReduceOp>().combine;
  if (is_idempotent(how)) return use(from);
  if (how != ir::Combine::sum) return everywhere();
  // x + 0 + 0 is x + 0.
  llvm::Value* const zero = llvm::Constant::getNullValue(value->getType());
  llvm::Value* const same =
      value->getType()->isFPOrFPVectorTy() ? b_.CreateFCmpOEQ(value, zero) : b_.CreateICmpEQ(value, zero);
  e_.when(
      b_.CreateAndReduce(same), [&] { use(from); }, everywhere);
}

}  // namespace tegula::codegen::host

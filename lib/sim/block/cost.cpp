#include "sim/block/cost.hpp"

#include <algorithm>

#include "ir/elementary.hpp"
#include "layout/layout.hpp"

namespace tegula::sim::block {

using namespace ir;

namespace {

/// Counts the elements of a value in one thread.
int elements(ir::Value const& value) {
  Type const& type = value.type();
  return type.is_tile() && type.layout() != nullptr ? static_cast<int>(type.layout()->registers()) : 1;
}

/// Gives the bytes of a value in one warp.
double warp_bytes(ir::Value const& value, TargetInfo const& target) {
  Type const& type = value.type();
  if (!type.is_tile()) return bytes(type.element());
  return static_cast<double>(elements(value)) * target.lanes * bytes(type.element());
}

/// Counts the instructions for so many elements: halves go in pairs, integers at half the rate of floats.
int arithmetic(Element element, int count) {
  if (element == Element::f16 || element == Element::bf16) return (count + 1) / 2;
  if (is_float(element)) return bits(element) == 64 ? 2 * count : count;
  return bits(element) > 32 ? 4 * count : 2 * count;
}

/// Moves a tile between a thread's registers and memory: 16 bytes an instruction.
int accesses(ir::Value const& value) {
  int const in_thread = elements(value) * bytes(value.type().element());
  constexpr int vector = 16;
  return std::max((in_thread + vector - 1) / vector, 1);
}

class Costs {
 public:
  Costs(Op const& op, int warps, TargetInfo const& target) : op_(op), warps_(warps), target_(target) {}

  OpCost find() {
    switch (op_.kind()) {
      case OpKind::ReduceOp:
      case OpKind::ScanOp:
        return across(*op_.operand(0));
      case OpKind::FoldOp:
      case OpKind::VoteOp:
      case OpKind::ShuffleOp:
      case OpKind::ButterflyOp:
        return {elements(*op_.operand(0)), target_.costs.shuffle_latency};
      case OpKind::ConvertLayoutOp:
        return through_shared(*op_.operand(0));
      case OpKind::MmaOp:
        return product();
      case OpKind::LoadOp:
      case OpKind::GatherOp:
        return from_global(*op_.result());
      case OpKind::StoreOp:
      case OpKind::ScatterOp:
        return to_global();
      case OpKind::AtomicUpdateOp:
      case OpKind::CompareExchangeOp:
      case OpKind::AtomicOp:
        return atomic();
      case OpKind::BufferLoadOp:
        return {accesses(*op_.result()), target_.costs.shared_latency, warp_bytes(*op_.result(), target_)};
      case OpKind::BufferStoreOp:
        return {accesses(*op_.operand(0)), 0, warp_bytes(*op_.operand(0), target_)};
      case OpKind::TmaLoadOp:
      case OpKind::TmaStoreOp:
      case OpKind::TmaReduceOp:
      case OpKind::BulkLoadOp:
      case OpKind::BulkStoreOp:
        return {target_.costs.copy_issue};
      case OpKind::ForOp:
      case OpKind::RepeatOp:
      case OpKind::IfOp:
      case OpKind::CallOp:
      case OpKind::YieldOp:
        return {2};
      default:
        return plain();
    }
  }

 private:
  OpCost plain() const {
    if (op_.is<ConstantOp>() || op_.is<CastOp>()) {
      bool const converts = op_.is<CastOp>();
      return {converts ? elements(*op_.result()) : 0, converts ? target_.costs.arithmetic_latency : 0};
    }
    if (!op_.is(Family::elementwise)) {
      bool const free = op_.info().is_block_op() || op_.is(Family::symbolic) || op_.is(Family::launch);
      return {!free && !op_.info().has(rearranges)};
    }
    int const count = elements(*op_.result());
    Element const element = op_.result()->type().element();
    if (is_function(op_)) {
      // A quarter of the multiprocessor has its share of the units for functions.
      double const rate = target_.exponentials_per_clock / target_.costs.schedulers;
      return {static_cast<int>(count * target_.lanes / rate), target_.costs.function_latency};
    }
    return {arithmetic(element, count), target_.costs.arithmetic_latency};
  }

  /// Combines in threads, then across lanes.
  OpCost across(ir::Value const& operand) const {
    constexpr int steps = 5;  // of 32 lanes
    int const shuffled = op_.result_count() > 0 ? elements(*op_.result()) : 1;
    return {arithmetic(operand.type().element(), elements(operand)) + 2 * steps * shuffled,
            steps * (target_.costs.shuffle_latency + target_.costs.arithmetic_latency)};
  }

  OpCost through_shared(ir::Value const& operand) const {
    return {2 * accesses(operand), 2 * target_.costs.shared_latency, 2 * warp_bytes(operand, target_)};
  }

  OpCost product() const {
    Type const& left = op_.lhs()->type();
    double const part = static_cast<double>(op_.result()->type().shape().product()) / warps_;
    double const rate = target_.product_bytes_per_clock / target_.costs.schedulers;
    constexpr int half_rate = 2;  // of mma, against wgmma
    OpCost cost{elements(*op_.result()) / 4, target_.costs.product_latency};
    cost.product = half_rate * part * static_cast<double>(left.shape()[1]) * bytes(left.element()) / rate;
    return cost;
  }

  OpCost from_global(ir::Value const& value) const {
    return {accesses(value), target_.costs.global_latency, 0, warp_bytes(value, target_)};
  }

  OpCost to_global() const {
    double moved = 0;
    int count = 1;
    for (ir::Value const* operand : op_.operands()) {
      if (!operand->type().is_tile()) continue;
      moved = std::max(moved, warp_bytes(*operand, target_));
      count = std::max(count, accesses(*operand));
    }
    return {count, 0, 0, moved};
  }

  OpCost atomic() const {
    OpCost cost = to_global();
    cost.latency = target_.costs.global_latency;
    return cost;
  }

  Op const& op_;
  int warps_;
  TargetInfo const& target_;
};

}  // namespace

OpCost cost_of(Op const& op, int warps, TargetInfo const& target) { return Costs(op, warps, target).find(); }

}  // namespace tegula::sim::block

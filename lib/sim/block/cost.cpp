#include "sim/block/cost.hpp"

#include <algorithm>
#include <bit>

#include "ir/core/families.hpp"
#include "ir/values/elementary.hpp"
#include "layout/layout.hpp"

namespace tegula::sim::block {

using namespace ir;

namespace {

/// Counts the elements of a value in one thread.
int elements(ir::Value const& value) {
  Type const& type = value.type();
  return type.is_tile() && type.layout() != nullptr ? static_cast<int>(type.layout()->registers()) : 1;
}

/// Returns the bytes of a value in one warp.
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
    switch (op_.info().family) {
      case Family::elementwise:
        return elementwise();
      case Family::constant:
        return {op_.is<TableOp>() ? accesses(*op_.result()) : op_.is<IotaOp>() ? 1 : 0};
      case Family::shape:
        return moved();
      case Family::reduction:
        return op_.is<FoldOp>() || op_.is<VoteOp>() ? shuffled() : across(*op_.operand(0));
      case Family::product:
        return op_.is<MmaOp>() ? product() : OpCost{};
      case Family::memory:
        return accessed();
      case Family::control:
        return {op_.info().is_block_op() ? 0 : op_.is<ReturnOp>() ? 1 : 2};
      case Family::report:
        return {1};
      case Family::symbolic:
      case Family::launch:
      case Family::synchronisation:
        return {0};
    }
    return {0};
  }

 private:
  OpCost elementwise() const {
    int const count = elements(*op_.result());
    Element const element = op_.result()->type().element();
    if (op_.is<CastOp>()) return {count, target_.costs.arithmetic_latency};
    if (is_function(op_)) {
      // A quarter of the multiprocessor has its share of the units for functions.
      double const rate = target_.exponentials_per_clock / target_.costs.schedulers;
      return {static_cast<int>(count * target_.lanes / rate), target_.costs.function_latency};
    }
    return {arithmetic(element, count), target_.costs.arithmetic_latency};
  }

  OpCost moved() const {
    if (op_.is<ButterflyOp>() || op_.is<ShuffleOp>()) return shuffled();
    if (op_.is<ConvertLayoutOp>() || op_.is<TakeOp>() || op_.is<PutOp>()) return through_shared(*op_.operand(0));
    return {op_.info().has(rearranges) ? 0 : 1};
  }

  OpCost shuffled() const { return {elements(*op_.operand(0)), target_.costs.shuffle_latency}; }

  OpCost accessed() const {
    Effects const& effects = op_.info().effects;
    if (op_.info().atomic() && !copies_out(op_)) return atomic();
    if (op_.is<ShiftedLoadOp>()) return shifted();
    if (op_.is<BufferLoadOp>())
      return {accesses(*op_.result()), target_.costs.shared_latency, warp_bytes(*op_.result(), target_)};
    if (op_.is<BufferStoreOp>()) return {accesses(*op_.operand(0)), 0, warp_bytes(*op_.operand(0), target_)};
    if (op_.is<CpAsyncOp>() || op_.is<CpAsyncGatherOp>() || op_.is<CpAsyncCoverOp>() || op_.is<FetchOp>()) return {0};
    if (copies_in(op_) || copies_out(op_)) return {target_.costs.copy_issue};
    if (effects.reads(Space::global)) return from_global(*op_.result());
    if (effects.writes(Space::global)) return to_global();
    return {op_.is<BufferAllocOp>() ? 1 : 0};
  }

  /// Loads two words for each that a thread takes, shifts and masks them.
  OpCost shifted() const {
    constexpr int word_bytes = 4, of_word = 5;
    int const words = (elements(*op_.result()) * bytes(op_.result()->type().element()) + word_bytes - 1) / word_bytes;
    return {of_word * words, target_.costs.shared_latency, 2 * warp_bytes(*op_.result(), target_)};
  }

  /// Combines in threads, then across lanes.
  OpCost across(ir::Value const& operand) const {
    int const steps = std::bit_width(static_cast<unsigned>(target_.lanes)) - 1;
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

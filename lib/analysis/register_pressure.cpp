#include "analysis/register_pressure.hpp"

#include <algorithm>
#include <set>

#include "layout/layout.hpp"
#include "ir/loop.hpp"
#include "ir/walk.hpp"

namespace tegula::analysis {
namespace {

bool is_free(ir::Value const& value) {
  ir::Op const* const op = value.defining_op();
  if (value.type().is_tensor()) return true;
  return op != nullptr && (op->is<ir::ConstantOp>() || op->is<ir::IotaOp>() || op->is<ir::SplatOp>() ||
                           op->is<ir::TensorMapOp>() || op->is<ir::BufferAllocOp>());
}

/// Counts the registers of a value while it lives. Threads read a broadcast tile from its source.
int cost(ir::Value const& value) {
  ir::Op const* const broadcast = value.defined_by<ir::BroadcastOp>();
  return registers_of(broadcast != nullptr ? broadcast->operand()->type() : value.type());
}

/// Holds the values alive at one point, and their registers.
class Live {
 public:
  explicit Live(bool open_products) : open_products_(open_products) {}
  void add(ir::Value const& value) {
    if (open_products_ ? !value.type().is_pending() : is_free(value)) return;
    if (values_.insert(&value).second) registers_ += cost(value);
  }
  void remove(ir::Value const& value) {
    if (values_.erase(&value) != 0) registers_ -= cost(value);
  }
  [[nodiscard]] int registers() const { return registers_; }

 private:
  bool open_products_;  ///< of these values alone
  std::set<ir::Value const*> values_;
  int registers_ = 0;
};

bool is_loop(ir::Op const& op) { return op.is<ir::ForOp>() || op.is<ir::RepeatOp>(); }

class Pressure {
 public:
  /// Goes through a block from its end; `live` holds the values alive there, and afterwards those alive at its start.
  void block(ir::Block& of, Live& live) {
    see(live);
    for (auto at = of.end(); at != of.begin();) {
      --at;
      op(*at, live);
    }
    for (int i = 0; i < of.argument_count(); ++i) live.remove(*of.argument(i));
  }
  [[nodiscard]] int max() const { return most_; }

 private:
  void op(ir::Op& op, Live& live) {
    for (int i = 0; i < op.result_count(); ++i) live.remove(*op.result(i));
    // A loop's next iteration needs the values that this one used.
    if (is_loop(op)) join(live, op.block(), op);
    Live before = live;
    for (int i = 0; i < op.block_count(); ++i) {
      Live inside = live;
      if (op.is<ir::ForOp>()) {  // counts to the end
        ir::Loop const loop(op);
        inside.add(*loop.counter());
        inside.add(*loop.upper());
        inside.add(*loop.step());
      }
      block(op.block(i), inside);
      if (!is_loop(op)) join(before, op.block(i), op);
    }
    live = before;
    for (ir::Value const* operand : op.operands()) live.add(*operand);
    see(live);
  }

  /// Adds the values from outside of the op that a block of it uses.
  static void join(Live& live, ir::Block& block, ir::Op const& op) {
    ir::walk_pre_order(block, [&](ir::Op& inner) {
      for (ir::Value const* operand : inner.operands())
        if (is_outside(*operand, op)) live.add(*operand);
      return ir::Walk::advance;
    });
  }

  static ir::Block const* block_of(ir::Value const& value) {
    return value.defining_op() != nullptr ? value.defining_op()->parent() : value.owner_block();
  }
  static bool is_outside(ir::Value const& value, ir::Op const& op) {
    for (ir::Block const* block = block_of(value); block != nullptr;) {
      ir::Op const* const parent = block->parent_op();
      if (parent == &op) return false;
      block = parent == nullptr ? nullptr : parent->parent();
    }
    return true;
  }

  void see(Live const& live) { most_ = std::max(most_, live.registers()); }

  int most_ = 0;
};

}  // namespace

int registers_of(ir::Type const& type) {
  constexpr int word_bits = 32;
  int const bits = type.element() == Element::boolean ? 1 : 8 * bytes(type.element());
  if (type.is_tile() || type.is_pending())
    return type.layout() == nullptr ? 0 : (type.layout()->registers() * bits + word_bits - 1) / word_bits;
  if (type.is_scalar()) return (bits + word_bits - 1) / word_bits;
  return type.is_tensor() ? 0 : 1;  // an address in shared memory
}

namespace {

int max_alive(ir::Function const& function, bool open_products) {
  Pressure pressure;
  Live live(open_products);
  pressure.block(function.body(), live);
  return pressure.max();
}

}  // namespace

int register_pressure(ir::Function const& function) { return max_alive(function, false); }
int open_product_registers(ir::Function const& function) { return max_alive(function, true); }

}  // namespace tegula::analysis

#include "analysis/register_pressure.hpp"

#include <algorithm>
#include <set>

#include "ir/families.hpp"
#include "layout/layout.hpp"
#include "ir/loop.hpp"
#include "ir/walk.hpp"

namespace tegula::analysis {
namespace {

bool is_free(ir::Value const& value) {
  ir::Op const* const op = value.defining_op();
  if (value.type().is_tensor()) return true;
  return op != nullptr && (ir::makes_elements(*op) || op->is<ir::TensorMapOp>() || op->is<ir::BufferAllocOp>());
}

/// Counts the registers of a value while it lives. Threads read a broadcast tile from its source.
int cost(ir::Value const& value) {
  ir::Op const* const broadcast = value.defined_by<ir::BroadcastOp>();
  return registers_of(broadcast != nullptr ? broadcast->operand()->type() : value.type());
}

/// Names the values that are counted.
enum class Counted { all, tiles, open_products };

/// Holds the values alive at one point, and their registers.
class Live {
 public:
  explicit Live(Counted counted) : counted_(counted) {}
  void add(ir::Value const& value) {
    if (counted_ == Counted::open_products ? !value.type().is_pending() : is_free(value)) return;
    if (counted_ == Counted::tiles && !value.type().is_tile()) return;
    if (values_.insert(&value).second) registers_ += cost(value);
  }
  void remove(ir::Value const& value) {
    if (values_.erase(&value) != 0) registers_ -= cost(value);
  }
  [[nodiscard]] int registers() const { return registers_; }

 private:
  Counted counted_;
  std::set<ir::Value const*> values_;
  int registers_ = 0;
};

class Pressure {
 public:
  /// `whole_tiles`: only behind ops that do not stream. Their operands may be computed element by element, too.
  explicit Pressure(bool whole_tiles) : whole_tiles_(whole_tiles) {}

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
    if (whole_tiles_ && !streams(op)) see(live);
    for (int i = 0; i < op.result_count(); ++i) live.remove(*op.result(i));
    if (op.block_count() != 0) regions(op, live);
    for (ir::Value const* operand : op.operands()) live.add(*operand);
    if (!whole_tiles_) see(live);
  }

  void regions(ir::Op& op, Live& live) {
    // A loop's next iteration needs the values that this one used.
    if (ir::is_loop(op)) join(live, op.block(), op);
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
      if (!ir::is_loop(op)) join(before, op.block(i), op);
    }
    live = before;
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

  bool whole_tiles_;
  int most_ = 0;
};

}  // namespace

bool streams(ir::Op const& op) {
  bool const spreads = op.is<ir::BroadcastOp>() || op.is<ir::ExpandDimsOp>() || op.is<ir::SqueezeOp>();
  bool const uniform_number = op.is(ir::Family::symbolic) && !op.info().has(ir::per_warp);
  return op.pure() && op.block_count() == 0 &&
         (op.is(ir::Family::elementwise) || uniform_number || spreads || ir::makes_elements(op));
}

int registers_of(ir::Type const& type) {
  constexpr int word_bits = 32;
  int const bits = type.element() == Element::boolean ? 1 : 8 * bytes(type.element());
  if (type.is_tile() || type.is_pending())
    return type.layout() == nullptr ? 0 : (type.layout()->registers() * bits + word_bits - 1) / word_bits;
  if (type.is_scalar()) return (bits + word_bits - 1) / word_bits;
  return type.is_tensor() ? 0 : 1;  // an address in shared memory
}

namespace {

int max_alive(ir::Function const& function, Counted counted) {
  Pressure pressure(counted == Counted::tiles);
  Live live(counted);
  pressure.block(function.body(), live);
  return pressure.max();
}

}  // namespace

int register_pressure(ir::Function const& function) { return max_alive(function, Counted::all); }
int whole_tile_pressure(ir::Function const& function) { return max_alive(function, Counted::tiles); }
int open_product_registers(ir::Function const& function) { return max_alive(function, Counted::open_products); }

}  // namespace tegula::analysis

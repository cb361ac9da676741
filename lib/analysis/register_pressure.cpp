#include "analysis/register_pressure.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include "ir/element_chains.hpp"
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

using Cost = std::function<int(ir::Value const&)>;

/// Names the values that are counted.
enum class Counted { all, tiles, open_products };

/// Holds the values alive at one point, and their registers.
class Live {
 public:
  Live(Counted counted, Cost const& cost) : counted_(counted), cost_(&cost) {}
  void add(ir::Value const& value) {
    if (counted_ == Counted::open_products ? !value.type().is_pending() : is_free(value)) return;
    if (counted_ == Counted::tiles && !value.type().is_tile()) return;
    if (values_.insert(&value).second) registers_ += (*cost_)(value);
  }
  void remove(ir::Value const& value) {
    if (values_.erase(&value) != 0) registers_ -= (*cost_)(value);
  }
  [[nodiscard]] int registers() const { return registers_; }

 private:
  Counted counted_;
  Cost const* cost_;
  std::set<ir::Value const*> values_;
  int registers_ = 0;
};

class Pressure {
 public:
  /// `whole_tiles`: only behind ops that do not stream. Their operands may be computed element by element, too.
  Pressure(bool whole_tiles, Cost const& cost, bool renames = false)
      : whole_tiles_(whole_tiles), renames_(renames), cost_(&cost) {}

  /// Goes through a block from its end; `live` holds the values alive there, and afterwards those alive at its start.
  void block(ir::Block& of, Live& live) {
    see(live);
    std::vector<ir::ElementChain> const chains = ir::element_chains(of, *cost_);
    for (auto chain = chains.rbegin(); chain != chains.rend(); ++chain) {
      by_elements_ = chain->by_elements();
      int const end = live.registers();
      for (auto at = chain->all.rbegin(); at != chain->all.rend(); ++at) op(const_cast<ir::Op&>(**at), live);
      if (by_elements_ && !whole_tiles_) most_ = std::max(most_, std::max(live.registers(), end) + chain->inside());
      by_elements_ = false;
    }
    for (int i = 0; i < of.argument_count(); ++i) live.remove(*of.argument(i));
  }
  [[nodiscard]] int max() const { return most_; }

 private:
  void op(ir::Op& op, Live& live) {
    if (whole_tiles_ && !passes(op)) see(live);
    for (int i = 0; i < op.result_count(); ++i) live.remove(*op.result(i));
    if (op.block_count() != 0) regions(op, live);
    for (ir::Value const* operand : op.operands()) live.add(*operand);
    if (!whole_tiles_ && !by_elements_) see(live);
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

  /// Tells whether an op needs no whole tile.
  [[nodiscard]] bool passes(ir::Op const& op) const {
    bool const renames = op.is<ir::ReshapeOp>() || op.is<ir::TransOp>() || op.is<ir::ExtractOp>() ||
                         op.is<ir::ConcatenateOp>() || op.is<ir::ResizeOp>() || op.is<ir::ButterflyOp>();
    bool const has_no_tile =
        op.is<ir::BufferAllocOp>() || op.is<ir::ViewOp>() || op.is<ir::ProfileAppendOp>() || op.is<ir::YieldOp>();
    return streams(op) || (renames_ && (renames || has_no_tile));
  }

  bool whole_tiles_;
  bool renames_;              ///< ops that rename registers need no whole tiles
  bool by_elements_ = false;  ///< the op is one of a chain, within which only a few elements of values are alive
  Cost const* cost_;
  int most_ = 0;
};

}  // namespace

bool streams(ir::Op const& op) {
  bool const spreads = op.is<ir::BroadcastOp>() || op.is<ir::ExpandDimsOp>() || op.is<ir::SqueezeOp>();
  bool const uniform_number = op.is(ir::Family::symbolic) && !op.info().has(ir::per_warp);
  return op.pure() && op.block_count() == 0 &&
         (op.is(ir::Family::elementwise) || uniform_number || spreads || ir::makes_elements(op));
}

namespace {

int cost(ir::Value const& value) { return registers_of(value); }

int max_alive(ir::Block& block, Counted counted, Cost const& cost_of = cost) {
  Pressure pressure(counted == Counted::tiles, cost_of);
  Live live(counted, cost_of);
  pressure.block(block, live);
  return pressure.max();
}

}  // namespace

int register_pressure(ir::Block& block) { return max_alive(block, Counted::all); }
int register_pressure(ir::Function const& function) { return register_pressure(function.body()); }
int pressure_at_whole_tiles(ir::Block& block, Cost const& cost_of) {
  Pressure pressure(true, cost_of, true);
  Live live(Counted::all, cost_of);
  pressure.block(block, live);
  return pressure.max();
}
int register_pressure(ir::Function const& function, Cost const& cost_of) {
  return max_alive(function.body(), Counted::all, cost_of);
}
int whole_tile_pressure(ir::Function const& function) { return max_alive(function.body(), Counted::tiles); }
int whole_tile_pressure(ir::Function const& function, Cost const& cost_of) {
  return max_alive(function.body(), Counted::tiles, cost_of);
}
int open_product_registers(ir::Function const& function) { return max_alive(function.body(), Counted::open_products); }

}  // namespace tegula::analysis

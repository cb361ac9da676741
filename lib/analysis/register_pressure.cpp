#include "analysis/register_pressure.hpp"

#include <algorithm>
#include <set>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "ir/core/families.hpp"
#include "ir/memory/element_chains.hpp"
#include "layout/layout.hpp"
#include "ir/core/loop.hpp"
#include "ir/core/walk.hpp"
#include "ir/text/text.hpp"

namespace tegula::analysis {
namespace {

bool is_free(ir::Value const& value) {
  ir::Op const* const op = value.defining_op();
  if (value.type().is_tensor()) return true;
  return op != nullptr && (ir::makes_elements(*op) || op->is<ir::TensorMapOp>() || op->is<ir::BufferAllocOp>());
}

using Cost = std::function<int(ir::Value const&)>;

/// Says which points of a block are counted.
enum class Points {
  ops,           ///< after each op, or within a chain that a thread does a few elements at a time
  whole_tiles,   ///< after ops that do not stream: their operands may be computed element by element, too
  as_assembled,  ///< of these, not after ops that rename registers or take no tile; steps between ops count besides
};

/// Ops of a chain from which on the assembler does several elements at once, to hide latencies.
constexpr std::size_t long_chain = 24;
/// Registers of such elements beside their tile.
constexpr int steps_of_chain = 12;
/// Registers of a quotient's steps: of floats rounded as IEEE 754 says, of integers of 32 and of 64 bits.
constexpr int steps_of_float = 14, steps_of_word = 16, steps_of_long = 30;

/// Counts the registers of steps between the operands of an op and its result.
int steps_of(ir::Op const& op) {
  if (!ir::divides(op) || !op.result()->type().is_tile()) return 0;
  ir::Op const* const by = op.operands().back()->defining_op();
  Element const element = op.result()->type().element();
  bool const by_constant = by != nullptr && ir::makes_elements(*by);
  bool const approximates = op.is<ir::DivOp>() && op.as<ir::DivOp>().bits != 0;
  if (by_constant || approximates) return 0;
  int const held = registers_of(*op.result());
  if (is_float(element)) return std::min(steps_of_float, held);
  return std::min(bytes(element) == 8 ? steps_of_long : steps_of_word, 2 * held);
}

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
  /// Returns the value that takes most registers; of equal ones the first in the source, or by name.
  [[nodiscard]] ir::Value const* largest() const {
    auto const rank = [&](ir::Value const* value) {
      ir::Op const* const op = value->defining_op();
      return std::tuple(-(*cost_)(*value), op == nullptr ? 0 : op->where().line(), ir::to_string(*value));
    };
    auto const at = std::min_element(values_.begin(), values_.end(),
                                     [&](auto const* a, auto const* b) { return rank(a) < rank(b); });
    return at == values_.end() ? nullptr : *at;
  }

 private:
  Counted counted_;
  Cost const* cost_;
  std::set<ir::Value const*> values_;
  int registers_ = 0;
};

class Pressure {
 public:
  Pressure(Points points, Cost const& cost) : points_(points), cost_(&cost) {}

  /// Goes through a block from its end; `live` holds the values alive there, and afterwards those alive at its start.
  void block(ir::Block& of, Live& live) {
    see(live);
    std::vector<ir::ElementChain> const chains = ir::element_chains(of, *cost_);
    for (auto chain = chains.rbegin(); chain != chains.rend(); ++chain) {
      by_elements_ = chain->by_elements();
      int const end = live.registers();
      for (auto at = chain->all.rbegin(); at != chain->all.rend(); ++at) op(const_cast<ir::Op&>(**at), live);
      if (by_elements_ && points_ == Points::ops)
        most_ = std::max(most_, std::max(live.registers(), end) + chain->inside());
      by_elements_ = false;
      if (chain->ops.size() >= long_chain)
        steps_ = std::max(steps_, std::min(steps_of_chain, registers_of(*chain->ops.front()->result())));
    }
    for (int i = 0; i < of.argument_count(); ++i) live.remove(*of.argument(i));
  }
  [[nodiscard]] int max() const { return most_; }
  [[nodiscard]] ir::Value const* largest() const { return largest_; }

 private:
  void op(ir::Op& op, Live& live) {
    if (points_ != Points::ops && !passes(op)) see(live);
    if (points_ == Points::as_assembled && op.is<ir::ScanOp>()) see_beside(live, op.operands());
    steps_ = std::max(steps_, steps_of(op));
    for (int i = 0; i < op.result_count(); ++i) live.remove(*op.result(i));
    if (op.block_count() != 0) regions(op, live);
    for (ir::Value const* operand : op.operands()) live.add(*operand);
    if (points_ == Points::ops && !by_elements_) see(live);
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

  void see(Live const& live) {
    int const steps = points_ == Points::as_assembled ? std::exchange(steps_, 0) : 0;
    if (points_ == Points::as_assembled && live.registers() + steps > most_) largest_ = live.largest();
    most_ = std::max(most_, live.registers() + steps);
  }
  /// Sees the operands of an op beside its result.
  void see_beside(Live live, std::span<ir::Value* const> operands) {
    for (ir::Value const* operand : operands) live.add(*operand);
    see(live);
  }

  /// Tells whether an op needs no whole tile.
  [[nodiscard]] bool passes(ir::Op const& op) const {
    if (streams(op)) return true;
    bool const renames = op.is<ir::ReshapeOp>() || op.is<ir::TransOp>() || op.is<ir::ExtractOp>() ||
                         op.is<ir::ConcatenateOp>() || op.is<ir::ResizeOp>() || op.is<ir::ButterflyOp>();
    return points_ == Points::as_assembled && (renames || op.is<ir::YieldOp>() || !touches_tile(op));
  }
  static bool touches_tile(ir::Op const& op) {
    auto const has_registers = [](ir::Value const* value) {
      return value->type().is_tile() || value->type().is_pending();
    };
    for (int i = 0; i < op.result_count(); ++i)
      if (has_registers(op.result(i))) return true;
    return op.block_count() > 0 || std::any_of(op.operands().begin(), op.operands().end(), has_registers);
  }

  Points points_;
  bool by_elements_ = false;  ///< the op is one of a chain, within which only a few elements of values are alive
  Cost const* cost_;
  int most_ = 0;
  ir::Value const* largest_ = nullptr;
  int steps_ = 0;  ///< the most registers of steps ahead of the next point
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
  Pressure pressure(counted == Counted::tiles ? Points::whole_tiles : Points::ops, cost_of);
  Live live(counted, cost_of);
  pressure.block(block, live);
  return pressure.max();
}

}  // namespace

int register_pressure(ir::Block& block) { return max_alive(block, Counted::all); }
int register_pressure(ir::Function const& function) { return register_pressure(function.body()); }
AssembledPressure pressure_as_assembled(ir::Block& block, Cost const& cost_of) {
  Pressure pressure(Points::as_assembled, cost_of);
  Live live(Counted::all, cost_of);
  pressure.block(block, live);
  return {pressure.max(), pressure.largest()};
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

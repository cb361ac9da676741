#include "transform/tile/raise_dots.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <vector>

#include "analysis/effects.hpp"
#include "ir/walk.hpp"
#include "transform/common/role_registers.hpp"

namespace tegula::transform {
namespace {

using ir::Block;
using ir::Op;

/// Tells whether an op is no work of its own: a load, a conversion or another form of a factor, a number of an address.
bool serves_factors(Op const& op) {
  if (op.block_count() > 0 || op.result_count() != 1 || !analysis::is_movable(op)) return false;
  return !op.result()->type().is_tile() || op.is<ir::LoadOp>() || op.is<ir::CastOp>() || op.is<ir::ConstantOp>() ||
         op.info().has(ir::rearranges);
}

/// Tells whether a factor follows from arithmetic of tiles in this block.
bool is_computed(ir::Value const& factor, Block const& block) {
  Op const* const op = factor.defining_op();
  if (op == nullptr || op->parent() != &block || op->is<ir::LoadOp>()) return false;
  if (!serves_factors(*op)) return true;
  return std::any_of(op->operands().begin(), op->operands().end(),
                     [&](ir::Value const* operand) { return is_computed(*operand, block); });
}

using Turns = std::map<Op const*, int>;

/// Gives the turn of each product of a block: how many others have to be done before it, one behind the other.
Turns turns_of(Block const& block) {
  Turns turns, behind;  // of products; for each op, the products in a row that end with it
  auto const known = [&](ir::Value const& value) {
    auto const found = behind.find(value.defining_op());
    return found == behind.end() ? 0 : found->second;
  };
  for (Op const& op : block) {
    int most = 0;
    for (ir::Value const* operand : op.operands()) most = std::max(most, known(*operand));
    bool const is_dot = op.is<ir::DotOp>();
    if (is_dot) turns.emplace(&op, std::max(known(*op.lhs()), known(*op.rhs())));
    behind.emplace(&op, most + (is_dot ? 1 : 0));
  }
  return turns;
}

/// Says which products start ahead of arithmetic that they do not need.
struct Starts {
  bool early = false;   ///< each as early as its factors are known
  std::set<int> turns;  ///< else those of these turns, as early as the factors of all of a turn are known
};

/// Decides when products start, by the registers of warpgroups with 64 rows each. Where registers do not hold factors
/// that wait beside results, the products of a turn start together, if its results and factors fit.
Starts starts_of(std::vector<Op*> const& dots, Turns const& turn_of, TargetInfo const& target) {
  std::int64_t const threads = target.threads_per_group(), register_bytes = sizeof(float);
  std::int64_t groups = 1;
  auto const registers_of = [&](ir::Type const& tile) {
    groups = std::max(groups, tile.shape()[0] / isa::wgmma.rows);
    return isa::wgmma.rows * tile.shape()[1] * bytes(tile.element()) / (threads * register_bytes);
  };
  struct Turn {
    std::int64_t results = 0, factors = 0;
  };
  std::map<int, Turn> turns;
  std::int64_t always = isa::wgmma.extra_registers;
  std::int64_t waiting = 0;  // factors of products that run while the last one's are computed
  Block const& block = *dots.front()->parent();
  for (Op const* dot : dots) {
    Turn& turn = turns[turn_of.at(dot)];
    bool const carried = dot->in<ir::DotOp>("accumulator")->owner_block() == &block;
    (carried ? always : turn.results) += registers_of(dot->result()->type());
    if (!is_computed(*dot->lhs(), block)) continue;
    std::int64_t const factor = registers_of(dot->lhs()->type());
    turn.factors += factor;
    if (dot != dots.back()) waiting += factor;
  }
  // A thread has a fourth of the columns of a vector that all rows read, and loads them in about two parts.
  std::int64_t vectors = 0;
  for (Op const& op : block)
    if (op.is<ir::BroadcastOp>() && is_float(op.result()->type().element()) && op.operand()->type().shape()[0] == 1)
      vectors = std::max(vectors, op.result()->type().shape().product() / op.result()->type().shape()[0] / 8);
  std::int64_t const room = registers_of_roles(static_cast<int>(groups) * target.warps_per_group, target)[1] - always;
  Starts starts{true, {}};
  for (auto const& [number, turn] : turns) {
    starts.early = starts.early && turn.results + vectors + waiting <= room;
    bool const awaited = turn.results > 0;  // in this iteration: the others run beside the wait
    if (awaited && turn.results + std::max(vectors, turn.factors) <= room) starts.turns.insert(number);
  }
  return starts;
}

/// Raises the products of one block, in their order.
class Raise {
 public:
  Raise(Block& block, TargetInfo const& target) : block_(block), target_(target) {}

  bool run() {
    std::vector<Op*> dots;
    for (Op& op : block_)
      if (op.is<ir::DotOp>()) dots.push_back(&op);
    if (dots.size() < 2) return false;
    Turns const turns = turns_of(block_);
    Starts const starts = starts_of(dots, turns, target_);
    bool changed = false;
    for (Op* dot : dots) {
      if (!starts.early && starts.turns.count(turns.at(dot)) == 0) continue;
      std::vector<Op*> with;
      if (!starts.early)
        std::copy_if(dots.begin(), dots.end(), std::back_inserter(with),
                     [&](Op const* other) { return turns.at(other) == turns.at(dot); });
      changed = raise(*dot, with) || changed;
    }
    return changed;
  }

 private:
  /// Remembers a product, and the op behind which it could have started; null: the start of the block.
  struct Placed {
    Op const* dot;
    Op const* behind;
  };

  /// Moves a product, and what only gives it factors, to where its factors and those of all of `with` are known.
  bool raise(Op& dot, std::vector<Op*> const& with) {
    std::map<Op const*, int> places;
    std::vector<Op*> order;
    for (Op& op : block_) {
      places[&op] = static_cast<int>(order.size());
      order.push_back(&op);
    }
    auto const place = [&](Op const* op) { return op == nullptr ? -1 : places.at(op); };
    std::set<Op const*> needed;
    int behind = -1;
    collect(dot, places, needed, behind);
    Op const* const first = behind < 0 ? nullptr : order[static_cast<std::size_t>(behind)];
    for (Op const* other : with) {
      std::set<Op const*> ignored;
      collect(*other, places, ignored, behind);
    }
    for (Placed const& before : placed_)
      if (place(before.behind) <= place(first)) behind = std::max(behind, place(before.dot));
    placed_.push_back({&dot, first});

    Op* at = nullptr;  // the first op that the product passes
    if (behind >= place(&dot)) return false;
    for (auto i = static_cast<std::size_t>(behind + 1); order[i] != &dot; ++i) {
      if (needed.count(order[i]) == 0) {
        if (at == nullptr) at = order[i];
      } else if (at != nullptr) {
        order[i]->move_before(*at);
      }
    }
    if (at != nullptr) dot.move_before(*at);
    return at != nullptr;
  }

  /// Collects the ops of the block that only give factors, and the place of the last other op that the product needs.
  static void collect(Op const& op, std::map<Op const*, int> const& places, std::set<Op const*>& needed, int& behind) {
    for (ir::Value const* operand : op.operands()) {
      Op const* const giver = operand->defining_op();
      auto const known = places.find(giver);
      if (known == places.end() || needed.count(giver) != 0) continue;
      if (serves_factors(*giver)) {
        needed.insert(giver);
        collect(*giver, places, needed, behind);
      } else {
        behind = std::max(behind, known->second);
      }
    }
  }

  Block& block_;
  TargetInfo const& target_;
  std::vector<Placed> placed_;
};

}  // namespace

PassResult raise_dots(ir::Function& function, AnalysisCache&, PassContext& context) {
  if (!function.is_kernel()) return PassResult::unchanged;
  std::vector<Block*> blocks;
  ir::walk(function, [&](Op& op) {
    if (op.is<ir::ForOp>()) blocks.push_back(&op.block());
  });
  bool changed = false;
  for (Block* block : blocks) changed = Raise(*block, context.target).run() || changed;
  return result_of(changed);
}

}  // namespace tegula::transform

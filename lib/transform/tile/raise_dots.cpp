#include "transform/tile/raise_dots.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "analysis/effects.hpp"
#include "ir/walk.hpp"
#include "transform/warp/specialize_warps.hpp"

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

/// Tells whether the registers of warpgroups with 64 rows each hold the results of all products at once. With `factors`
/// they also hold the computed factors of those that run while the last one's are computed.
bool fit(std::vector<Op*> const& dots, bool factors, TargetInfo const& target) {
  std::int64_t const threads = target.threads_per_group(), register_bytes = sizeof(float);
  std::int64_t registers = isa::wgmma.extra_registers, groups = 1;
  auto const take = [&](ir::Type const& tile) {
    registers += isa::wgmma.rows * tile.shape()[1] * bytes(tile.element()) / (threads * register_bytes);
    groups = std::max(groups, tile.shape()[0] / isa::wgmma.rows);
  };
  for (Op const* dot : dots) {
    take(dot->result()->type());
    if (factors && dot != dots.back() && is_computed(*dot->lhs(), *dot->parent())) take(dot->lhs()->type());
  }
  // A thread has a fourth of the columns of a vector that all rows read, and loads them in about two parts.
  std::int64_t vectors = 0;
  for (Op const& op : *dots.front()->parent())
    if (op.is<ir::BroadcastOp>() && is_float(op.result()->type().element()) && op.operand()->type().shape()[0] == 1)
      vectors = std::max(vectors, op.result()->type().shape().product() / op.result()->type().shape()[0] / 8);
  registers += vectors;
  return registers <= registers_of_roles(static_cast<int>(groups) * target.warps_per_group, target)[1];
}

/// Raises the products of one block, in their order.
class Raise {
 public:
  Raise(Block& block, TargetInfo const& target) : block_(block), target_(target) {}

  bool run() {
    std::vector<Op*> dots;
    for (Op& op : block_)
      if (op.is<ir::DotOp>()) dots.push_back(&op);
    if (dots.size() < 2 || !fit(dots, false, target_)) return false;
    bool const all = fit(dots, true, target_);
    bool changed = false;
    for (Op* dot : dots)
      if (all || !is_computed(*dot->lhs(), block_)) changed = raise(*dot) || changed;
    return changed;
  }

 private:
  /// Remembers a product, and the op behind which it could have started; null: the start of the block.
  struct Placed {
    Op const* dot;
    Op const* behind;
  };

  bool raise(Op& dot) {
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
    for (Placed const& before : placed_)
      if (place(before.behind) <= place(first)) behind = std::max(behind, place(before.dot));
    placed_.push_back({&dot, first});

    Op* at = nullptr;  // the first op that the product passes
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

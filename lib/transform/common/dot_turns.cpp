#include "transform/common/dot_turns.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <vector>

#include "analysis/effects.hpp"

namespace tegula::transform {

using ir::Op;

bool serves_factors(Op const& op) {
  // Of tensors that the kernel does not write.
  if (op.is<ir::FetchOp>() || op.is<ir::BufferLoadOp>() || op.is<ir::ShiftedLoadOp>()) return true;
  if (op.block_count() > 0 || op.result_count() != 1 || !analysis::is_movable(op)) return false;
  return !op.result()->type().is_tile() || op.is<ir::LoadOp>() || op.is<ir::CastOp>() || op.is<ir::ConstantOp>() ||
         op.info().has(ir::rearranges);
}

bool is_computed(ir::Value const& factor, ir::Block const& block) {
  Op const* const op = factor.defining_op();
  if (op == nullptr || op->parent() != &block || op->is<ir::LoadOp>() || op->is<ir::ShiftedLoadOp>()) return false;
  if (!serves_factors(*op)) return true;
  return std::any_of(op->operands().begin(), op->operands().end(),
                     [&](ir::Value const* operand) { return is_computed(*operand, block); });
}

ProductTurns turns_of(ir::Block const& block) {
  ProductTurns turns, in_a_row;  // of products; for each op, the products in a row that end with it
  auto const known = [&](ir::Value const& value) {
    auto const found = in_a_row.find(value.defining_op());
    return found == in_a_row.end() ? 0 : found->second;
  };
  for (Op const& op : block) {
    int most = 0;
    for (ir::Value const* operand : op.operands()) most = std::max(most, known(*operand));
    bool const is_dot = op.is<ir::DotOp>();
    if (is_dot) turns.emplace(&op, std::max(known(*op.lhs()), known(*op.rhs())));
    in_a_row.emplace(&op, most + (is_dot ? 1 : 0));
  }
  return turns;
}

namespace {

/// Raises the products of one block, in their order.
class Raise {
 public:
  explicit Raise(ir::Block& block) : block_(block) {}

  void run() {
    std::vector<Op*> dots;
    for (Op& op : block_)
      if (op.is<ir::DotOp>()) dots.push_back(&op);
    ProductTurns const turns = turns_of(block_);
    for (Op* dot : dots) {
      ir::ProductStart const start = dot->as<ir::DotOp>().start;
      if (start == ir::ProductStart::written) continue;
      std::vector<Op*> with;
      if (start == ir::ProductStart::together)
        std::copy_if(dots.begin(), dots.end(), std::back_inserter(with),
                     [&](Op const* other) { return turns.at(other) == turns.at(dot); });
      raise(*dot, with);
    }
  }

 private:
  /// Remembers a product, and the op after which it could have started; null: the start of the block.
  struct Placed {
    Op const* dot;
    Op const* after;
  };

  /// Moves a product, and what only gives it factors, to where its factors and those of all of `with` are known.
  void raise(Op& dot, std::vector<Op*> const& with) {
    std::map<Op const*, int> places;
    std::vector<Op*> order;
    for (Op& op : block_) {
      places[&op] = static_cast<int>(order.size());
      order.push_back(&op);
    }
    auto const place = [&](Op const* op) { return op == nullptr ? -1 : places.at(op); };
    std::set<Op const*> needed;
    int after = -1;
    collect(dot, places, needed, after);
    Op const* const first = after < 0 ? nullptr : order[static_cast<std::size_t>(after)];
    for (Op const* other : with) {
      std::set<Op const*> ignored;
      collect(*other, places, ignored, after);
    }
    for (Placed const& before : placed_)
      if (place(before.after) <= place(first)) after = std::max(after, place(before.dot));
    placed_.push_back({&dot, first});

    Op* at = nullptr;  // the first op that the product passes
    if (after >= place(&dot)) return;
    for (auto i = static_cast<std::size_t>(after + 1); order[i] != &dot; ++i) {
      if (needed.count(order[i]) == 0) {
        if (at == nullptr) at = order[i];
      } else if (at != nullptr) {
        order[i]->move_before(*at);
      }
    }
    if (at != nullptr) dot.move_before(*at);
  }

  /// Collects the ops of the block that only give factors, and the place of the last other op that the product needs.
  static void collect(Op const& op, std::map<Op const*, int> const& places, std::set<Op const*>& needed, int& after) {
    for (ir::Value const* operand : op.operands()) {
      Op const* const giver = operand->defining_op();
      auto const known = places.find(giver);
      if (known == places.end() || needed.count(giver) != 0) continue;
      if (serves_factors(*giver)) {
        needed.insert(giver);
        collect(*giver, places, needed, after);
      } else {
        after = std::max(after, known->second);
      }
    }
  }

  ir::Block& block_;
  std::vector<Placed> placed_;
};

}  // namespace

void raise_products(ir::Block& block) { Raise(block).run(); }

}  // namespace tegula::transform

#include "transform/common/late_stage.hpp"

#include <algorithm>

#include "transform/common/fetches.hpp"

namespace tegula::transform {
namespace {

using ir::Block;
using ir::Op;
using ir::Value;
using Values = std::unordered_set<Value const*>;

std::int64_t bytes_of(ir::Type const& type) {
  return (type.is_tile() ? type.elements() : 1) * std::max(bytes(type.element()), 1);
}

/// Adds the results of a block's ops to a set, op by op: `joins(op, whether it reads one of the set)`.
template <class Joins>
void gather(Block const& block, Values& values, Joins joins) {
  for (Op const& op : block) {
    bool const reads = std::any_of(op.operands().begin(), op.operands().end(),
                                   [&](Value const* operand) { return values.contains(operand); });
    for (int i = 0; joins(op, reads) && i < op.result_count(); ++i) values.insert(op.result(i));
  }
}

/// Tells whether the loop's ops compute `value` from a carried value, without products.
bool follows_from(ir::Loop const& loop, std::map<int, Values>& followers, Value const& value, int carry) {
  auto const [at, first] = followers.try_emplace(carry);
  if (first) {
    at->second.insert(loop.carried(carry));
    gather(loop.body(), at->second, [](Op const& op, bool reads) { return reads && !op.is<ir::DotOp>(); });
  }
  return at->second.contains(&value);
}

}  // namespace

std::vector<Op*> products_that_can_be_late(Op& op) {
  ir::Loop const loop(op);
  Values products;  // their results, and what follows from these
  gather(loop.body(), products, [](Op const& at, bool reads) { return reads || at.is<ir::DotOp>(); });
  std::map<int, Values> followers;
  std::vector<Op*> late;
  int others = 0;
  for (Op& dot : loop.body()) {
    if (!dot.is<ir::DotOp>()) continue;
    auto const& uses = dot.result()->uses();
    bool const is_late = uses.size() == 1 && uses[0].user == &loop.yield() &&
                         follows_from(loop, followers, *dot.in<ir::DotOp>("accumulator"), loop.carry_of(uses[0])) &&
                         (products.contains(dot.lhs()) || products.contains(dot.rhs()));
    if (is_late)
      late.push_back(&dot);
    else
      ++others;
  }
  return others == 0 ? std::vector<Op*>() : late;
}

LateStage::LateStage(Op& loop, std::vector<Op*> const& late) : loop_(loop), block_(loop.block()) {
  for (Op* dot : late) {
    late_.insert(dot);
    late_carries_.push_back(loop_.carry_of(dot->result()->uses().front()));
  }
  gather_late();
  possible_ = carried_path_is_late() && find_crossing();
}

bool LateStage::adds_to(int k) const {
  return std::find(late_carries_.begin(), late_carries_.end(), k) != late_carries_.end();
}

bool LateStage::varies(Value const& value) const {
  return value.owner_block() == &block_ || (value.defining_op() != nullptr && value.defining_op()->parent() == &block_);
}

/// Adds ops that only the last products need to the last stage where fewer bytes then cross between iterations.
void LateStage::gather_late() {
  for (auto at = block_.end(); at != block_.begin();) {
    --at;
    Op& op = *at;
    bool const movable = op.pure() || op.is<ir::FetchOp>() || op.is<ir::BufferLoadOp>() || op.is<ir::ShiftedLoadOp>();
    if (!movable || op.is<ir::DotOp>() || op.result_count() != 1 || op.result()->unused()) continue;
    auto const& uses = op.result()->uses();
    if (!std::all_of(uses.begin(), uses.end(), [&](ir::Use const& use) { return late_.contains(use.user); })) continue;
    // A turned copy is read in place, as a copy is.
    bool const in_place = op.result()->type().is_tile() && fetched_operand(*op.result()).view != nullptr;
    if (op.result()->type().is_tile() && !in_place && !needs_late_carry(op)) {
      std::int64_t cost = 0;
      for (Value const* operand : op.operands())
        if (varies(*operand) && operand->type().is_tile()) cost += bytes_of(operand->type());
      if (cost >= bytes_of(op.result()->type())) continue;
    }
    late_.insert(&op);
  }
}

bool LateStage::needs_late_carry(Op const& op) const {
  return std::any_of(op.operands().begin(), op.operands().end(), [&](Value const* operand) {
    return std::any_of(late_carries_.begin(), late_carries_.end(),
                       [&](int k) { return follows_from(loop_, followers_, *operand, k); });
  });
}

bool LateStage::carried_path_is_late() const {
  return std::all_of(late_carries_.begin(), late_carries_.end(), [&](int k) {
    auto const& uses = loop_.carried(k)->uses();
    return std::all_of(uses.begin(), uses.end(), [&](ir::Use const& use) { return late_.contains(use.user); });
  });
}

/// Follows from the index alone, by scalar arithmetic.
bool LateStage::recomputed(Value const& value) const {
  if (recomputed_.empty()) {
    recomputed_.insert(loop_.counter());
    for (Op const& op : block_)
      if (op.pure() && op.block_count() == 0 && op.result_count() == 1 && op.result()->type().is_scalar() &&
          std::all_of(op.operands().begin(), op.operands().end(),
                      [&](Value const* operand) { return !varies(*operand) || recomputed_.contains(operand); }))
        recomputed_.insert(op.result());
  }
  return !varies(value) || recomputed_.contains(&value);
}

bool LateStage::find_crossing() {
  for (Op const& op : block_) {
    if (!late_.contains(&op)) continue;
    for (Value* operand : op.operands()) {
      Op const* const producer = operand->defining_op();
      bool const late = producer != nullptr ? late_.contains(producer) : adds_to(loop_.carry_of(*operand));
      if (late || recomputed(*operand) || std::find(crossing_.begin(), crossing_.end(), operand) != crossing_.end())
        continue;
      if (!operand->type().is_tile() && !operand->type().is_scalar()) return false;
      // One copy for both stages: carried in registers it would be no operand that wgmma reads from shared memory.
      if (fetched_operand(*operand).view != nullptr) return false;
      crossing_.push_back(operand);
    }
  }
  return true;
}

}  // namespace tegula::transform

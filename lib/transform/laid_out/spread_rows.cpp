#include "transform/laid_out/spread_rows.hpp"

#include <limits>
#include <set>
#include <vector>

#include "ir/core/builder.hpp"
#include "ir/core/rewrite.hpp"
#include "ir/core/walk.hpp"
#include "ir/memory/accesses.hpp"
#include "ir/values/constant_of.hpp"
#include "layout/shared_layouts.hpp"
#include "transform/common/axis_division.hpp"
#include "transform/common/loop_regions.hpp"
#include "transform/common/powers.hpp"
#include "transform/common/ring_lifetimes.hpp"
#include "transform/common/spread_ctas.hpp"

namespace tegula::transform {
namespace {

using ir::Op;
using ir::Type;
using ir::Value;

constexpr std::int64_t word_bytes = 4;

constexpr std::int64_t short_power_bits = 17;
/// Rows that may be prefetched: shorter ones are read at once by many clusters.
constexpr std::int64_t most_rows_ahead = 64;

/// Names what CTAs hand each other at a time: the result of a reduction, or a sum with the maximum below which it adds.
struct Exchange {
  Op* reduction;
  Op* max;  ///< null: none
  std::int64_t number;
};

/// Rewrites a kernel whose axis is divided. `ahead`: bytes of the rows between one that is prefetched and its own.
class Spread {
 public:
  Spread(ir::Function& function, std::int64_t ctas, std::int64_t ahead)
      : function_(function), ctas_(ctas), ahead_(ahead) {}

  void run(AxisDivision& division, Op& grid) {
    std::vector<Op*> const reductions = division.reductions(), effects = division.effects_of_all();
    division.run(grid);
    function_.cluster = static_cast<int>(ctas_);
    std::vector<Exchange> const exchanges = exchanges_of(reductions);
    begin(static_cast<std::int64_t>(exchanges.size()));
    prefetch_rows();
    for (Exchange const& exchange : exchanges) join(exchange);
    for (Op* effect : effects) leave_to_first(*effect);
  }

 private:
  /// Makes the mbarriers, one for each reduction, ahead of the first access to memory.
  void begin(std::int64_t reductions) {
    Op* first = &function_.body().back();
    for (Op& op : function_.body())
      if (op.info().effects.count != 0 && op.is(ir::Family::memory)) {
        first = &op;
        break;
      }
    ir::Builder builder = ir::Builder::before(*first);
    builder.set_where(first->where());
    rank_ = builder.op(ir::ClusterRankOp{}, {}, {Type::index()}).result();
    rank_->set_name("rank");
    if (reductions == 0) return;
    for (std::int64_t i = 0; i < reductions; ++i) {
      full_.push_back(builder.value(ir::make_op<ir::BufferAllocOp>(std::int64_t{8}), {}, Type::mbarrier({})));
      full_.back()->set_name("full");
    }
    elected(builder, ir::LoopRegion::pre_prologue, [&](ir::Builder& lane) {
      for (Value* full : full_) lane.op(ir::MbarrierInitOp{}, {full}, {});
      lane.op(ir::FenceMbarrierInitOp{}, {}, {});
    });
    builder.op(ir::make_op<ir::ClusterArriveOp>(true), {}, {});
  }

  /// Tells whether an offset counts blocks: clusters begin in its order.
  [[nodiscard]] bool counts_blocks(Value const& offset) const {
    if (offset.defined_by<ir::BlockIndexOp>() != nullptr) return true;
    Op const* const block = offset.defined_by<ir::DivOp>();
    if (block == nullptr || block->lhs()->defined_by<ir::BlockIndexOp>() == nullptr) return false;
    auto const by = ir::constant_of(*block->rhs());
    return by && by->bits == static_cast<std::uint64_t>(ctas_);
  }

  /// Prefetches what the cluster of a later row reads. A cluster waits for its own row, so that memory would rest while
  /// it reduces.
  void prefetch_rows() {
    std::vector<Op*> loads;
    for (Op& op : function_.body())
      if (op.is<ir::LoadOp>() && op.result()->type().is_tile()) loads.push_back(&op);
    for (Op* load : loads) prefetch_row(*load);
  }
  void prefetch_row(Op& load) {
    ir::Type const& tile = load.result()->type();
    auto const places = load.all<ir::LoadOp>("offsets");
    std::vector<Value*> operands{load.in<ir::LoadOp>("tensor")};
    operands.insert(operands.end(), places.begin(), places.end());
    std::int64_t const rows = ahead_ / (tile.elements() * bytes(tile.element()) * ctas_);
    int const lead = static_cast<int>(places.size()) - tile.rank();
    bool const is_unit = ir::parameter_of(*operands[0]).facts.unit_inner_stride;
    if (rows == 0 || rows > most_rows_ahead || lead < 1 || !is_unit || !counts_blocks(*places[0])) return;
    ir::Builder builder = ir::Builder::before(load);
    builder.set_where(load.where());
    operands[1] = builder.same(ir::AddOp{}, {operands[1], builder.index(rows)});
    Extents box;
    for (int axis = 0; axis < lead; ++axis) box.push_back(1);
    for (std::int64_t const extent : tile.shape()) box.push_back(extent);
    builder.op(ir::make_op<ir::PrefetchOp>(box), operands, {});
  }

  /// Lists what the CTAs hand each other, in order. A maximum waits for the sum that may take each part's own.
  std::vector<Exchange> exchanges_of(std::vector<Op*> const& reductions) const {
    std::vector<Exchange> result;
    std::set<Op const*> later;
    for (Op* reduction : reductions)
      if (Op const* const max = max_below(*reduction)) later.insert(max);
    for (Op* reduction : reductions)
      if (later.count(reduction) == 0)
        result.push_back({reduction, max_below(*reduction), static_cast<std::int64_t>(result.size())});
    return result;
  }

  /// Finds the maximum below which a sum adds exponentials, if the sum can do with the maximum of each part; null: it
  /// is not such a sum.
  static Op* max_below(Op const& sum) {
    auto const& attributes = sum.as<ir::ReduceOp>();
    if (attributes.power_bits == 0 || sum.parent() == nullptr) return nullptr;
    Op* const difference = difference_of(*sum.operand());
    if (difference == nullptr) return nullptr;
    Op* const max = difference->rhs()->defining_op()->operand()->defining_op();
    for (ir::Use const& use : max->result()->uses())  // the others find what all parts have
      if (use.user != difference->rhs()->defining_op() && !stands_after(*use.user, sum)) return nullptr;
    for (ir::Use const& use : difference->rhs()->uses())
      if (use.user != difference && !stands_after(*use.user, sum)) return nullptr;
    for (ir::Use const& use : sum.operand()->uses())
      if (use.user != &sum && !(factor_of(use) != nullptr && stands_after(*use.user, sum))) return nullptr;
    return max;
  }
  /// Returns the number of each row by which a share is multiplied; null: it is used otherwise.
  static Value* factor_of(ir::Use const& use) {
    if (!use.user->is<ir::MulOp>()) return nullptr;
    Op const* const spread = use.user->operand(1 - use.index)->defined_by<ir::BroadcastOp>();
    return spread == nullptr ? nullptr : spread->operand();
  }
  static bool stands_after(Op const& op, Op const& other) {
    return op.parent() == other.parent() && stands_before(other, op);
  }

  /// Finds x - max(x) in the arithmetic that makes an exponential; null: there is none, or several.
  static Op* difference_of(Value const& powers) {
    Op* found = nullptr;
    std::set<Op const*> seen;
    std::vector<Op*> open{powers.defining_op()};
    while (!open.empty()) {
      Op* const op = open.back();
      open.pop_back();
      if (op == nullptr || !op->is(ir::Family::elementwise) || !seen.insert(op).second) continue;
      Op const* const spread = op->is<ir::SubOp>() ? op->rhs()->defined_by<ir::BroadcastOp>() : nullptr;
      Op const* const max = spread == nullptr ? nullptr : spread->operand()->defined_by<ir::ReduceOp>();
      if (max != nullptr && max->as<ir::ReduceOp>().combine == ir::Combine::max && max->operand() == op->lhs()) {
        if (found != nullptr) return nullptr;
        found = op;
        continue;
      }
      for (Value* operand : op->operands()) open.push_back(operand->defining_op());
    }
    return found;
  }

  static Value* slot(ir::Builder& builder, Value* slots, Type const& tile, Value* number) {
    std::vector<Value*> operands = {slots, number};
    for (int axis = 0; axis < tile.rank(); ++axis) operands.push_back(builder.index(0));
    Type const view = Type::shared(tile.element(), tile.shape(), layout::dense_layout(tile.shape()));
    return builder.op(ir::ViewOp{}, operands, {view}).result();
  }

  static Value* combined(ir::Builder& builder, ir::Combine combine, Value* a, Value* b) {
    switch (combine) {
      case ir::Combine::sum:
        return builder.same(ir::AddOp{}, {a, b});
      case ir::Combine::max:
        return builder.same(ir::MaxOp{}, {a, b});
      case ir::Combine::min:
        return builder.same(ir::MinOp{}, {a, b});
      case ir::Combine::product:
        return builder.same(ir::MulOp{}, {a, b});
    }
    return nullptr;
  }
  /// Combines by adjacent pairs.
  static Value* combined(ir::Builder& builder, ir::Combine combine, std::vector<Value*> parts) {
    while (parts.size() > 1) {
      std::vector<Value*> pairs;
      for (std::size_t i = 0; i + 1 < parts.size(); i += 2)
        pairs.push_back(combined(builder, combine, parts[i], parts[i + 1]));
      if (parts.size() % 2 != 0) pairs.push_back(parts.back());
      parts = std::move(pairs);
    }
    return parts.front();
  }

  /// Hands the results of reductions to all CTAs, and puts the combination of their results in the place of each.
  void join(Exchange const& exchange) {
    Op& reduction = *exchange.reduction;
    Value* const own = reduction.result();
    std::vector<ir::Use> const uses = own->uses();
    if (exchange.max == nullptr) {
      ir::Builder builder = ir::Builder::after(reduction);
      builder.set_where(reduction.where());
      auto const parts = handed(builder, {own}, exchange.number).front();
      return replace(uses, combined(builder, reduction.as<ir::ReduceOp>().combine, parts));
    }
    Op& of_row = *difference_of(*reduction.operand())->rhs()->defining_op();
    std::vector<ir::Use> uses_of_max = exchange.max->result()->uses();
    std::erase_if(uses_of_max, [&](ir::Use const& use) { return use.user == &of_row; });
    take_own_max(exchange);
    ir::Builder builder = ir::Builder::after(reduction);
    builder.set_where(reduction.where());
    Value* const own_max = exchange.max->result();
    auto const parts = handed(builder, {own_max, own}, exchange.number);
    std::int64_t const power_bits = reduction.as<ir::ReduceOp>().power_bits;
    Value* const top = combined(builder, ir::Combine::max, parts[0]);
    std::vector<Value*> sums;
    for (std::size_t i = 0; i < parts[0].size(); ++i)
      sums.push_back(builder.same(ir::MulOp{}, {parts[1][i], power(builder, parts[0][i], top, power_bits)}));
    Value* const total = combined(builder, ir::Combine::sum, sums);
    // The text's e * factor is e' * c * factor, where e' = exp(x - own max) and c = exp(own max - max).
    Value* const c = power(builder, own_max, top, power_bits);
    for (ir::Use const& use : std::vector<ir::Use>(reduction.operand()->uses())) {
      if (use.user == &reduction) continue;
      ir::Builder before = ir::Builder::before(*use.user);
      before.set_where(use.user->where());
      Value* const factor = before.same(ir::MulOp{}, {factor_of(use), c});
      use.user->set_operand(1 - use.index,
                            before.op(ir::BroadcastOp{}, {factor}, {use.user->result()->type()}).result());
    }
    replace(uses, total);
    if (!of_row.result()->uses().empty()) {
      Value* const spread = builder.op(ir::BroadcastOp{}, {top}, {of_row.result()->type()}).result();
      replace(std::vector<ir::Use>(of_row.result()->uses()), spread);
    }
    of_row.erase();
    for (ir::Use const& use : uses_of_max) use.user->set_operand(use.index, top);
  }
  static void replace(std::vector<ir::Use> const& uses, Value* by) {
    for (ir::Use const& use : uses) use.user->set_operand(use.index, by);
  }

  /// Lets exponentials stay below the maximum of the own part; that of a part without numbers counts as one, so that
  /// they are 0.
  static void take_own_max(Exchange const& exchange) {
    Op& difference = *difference_of(*exchange.reduction->operand());
    ir::Builder builder = ir::Builder::after(*exchange.max);
    builder.set_where(exchange.max->where());
    Value* const max = exchange.max->result();
    Value* const lowest = builder.constant(-std::numeric_limits<float>::max(), max->type());
    Value* const floor = builder.same(ir::MaxOp{}, {max, lowest});
    Value* const spread = builder.op(ir::BroadcastOp{}, {floor}, {difference.rhs()->type()}).result();
    difference.set_operand(1, spread);
  }

  /// Returns exp(part - whole), of which `part` is not the greater one; 0 if it is -inf.
  static Value* power(ir::Builder& builder, Value* part, Value* whole, std::int64_t bits) {
    Value* const difference = builder.same(ir::SubOp{}, {part, whole});
    Value* const lowest = builder.constant(-200, part->type());
    return build_exp_below_one(builder, builder.same(ir::MaxOp{}, {difference, lowest}), bits <= short_power_bits);
  }

  /// Hands values to all CTAs; returns for each value those of all CTAs.
  std::vector<std::vector<Value*>> handed(ir::Builder& builder, std::vector<Value*> const& values,
                                          std::int64_t number) {
    if (number == 0) builder.op(ir::ClusterWaitOp{}, {}, {});
    Value* const full = full_[static_cast<std::size_t>(number)];
    std::vector<Value*> slots;
    std::int64_t bytes_of_all = 0;
    for (Value* value : values) {
      Type const tile = value->type();
      Extents shape = tile.shape();
      shape.insert(0, ctas_);
      slots.push_back(builder.value(ir::make_op<ir::BufferAllocOp>(std::int64_t{16}), {},
                                    Type::shared(tile.element(), shape, layout::dense_layout(shape))));
      slots.back()->set_name("parts");
      bytes_of_all += ctas_ * tile.elements() * word_bytes;
    }
    elected(builder, ir::LoopRegion::none,
            [&](ir::Builder& lane) { lane.op(ir::make_op<ir::MbarrierExpectOp>(bytes_of_all), {full}, {}); });
    for (std::size_t i = 0; i < values.size(); ++i) {
      Value* const place = slot(builder, slots[i], values[i]->type(), rank_);
      for (std::int64_t peer = 0; peer < ctas_; ++peer)
        builder.op(ir::PeerStoreOp{}, {place, values[i], full, builder.index(peer)}, {});
    }
    builder.op(ir::make_op<ir::MbarrierWaitOp>(ir::MemoryScope::cluster), {full, builder.index(0)}, {});
    std::vector<std::vector<Value*>> result;
    for (std::size_t i = 0; i < values.size(); ++i) {
      Type const tile = values[i]->type();
      result.emplace_back();
      for (std::int64_t peer = 0; peer < ctas_; ++peer)
        result.back().push_back(
            builder.value(ir::BufferLoadOp{}, {slot(builder, slots[i], tile, builder.index(peer))}, tile));
    }
    return result;
  }

  /// Lets the first CTA alone have an effect that is the same in all.
  void leave_to_first(Op& effect) {
    ir::Builder builder = ir::Builder::before(effect);
    builder.set_where(effect.where());
    Value* const is_first = builder.value(ir::make_op<ir::CompareOp>(ir::Predicate::eq), {rank_, builder.index(0)},
                                          Type::scalar(Element::boolean));
    Op& branch = builder.op(ir::IfOp{}, {is_first}, {});
    ir::Builder first(branch.add_block()), others(branch.add_block());
    Op& yield = first.op(ir::YieldOp{}, {}, {});
    others.op(ir::YieldOp{}, {}, {});
    effect.move_before(yield);
  }

  ir::Function& function_;
  std::int64_t ctas_, ahead_;
  Value* rank_ = nullptr;
  std::vector<Value*> full_;  ///< by reduction
};

}  // namespace

PassResult spread_rows(ir::Function& function, PassContext& context) {
  if (ctas_of_rows(function, context.options, context.target) == 1) return PassResult::unchanged;
  AxisClasses const classes(function, AxisClasses::Layouts::divided);
  RowShares const shares = shares_of_rows(function, classes, context.options, context.target);
  if (shares.ctas == 1) return PassResult::unchanged;
  Op* grid = nullptr;
  ir::walk(function, [&](Op& op) { grid = op.is<ir::GridOp>() ? &op : grid; });
  AxisDivision division(function, classes, shares.axis_class, shares.ctas);
  Spread(function, shares.ctas, context.target.tuning.prefetched_ahead).run(division, *grid);
  return PassResult::changed;
}

}  // namespace tegula::transform

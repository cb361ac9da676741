#include "transform/laid_out/spread_rows.hpp"

#include <vector>

#include "ir/core/builder.hpp"
#include "ir/core/rewrite.hpp"
#include "ir/core/walk.hpp"
#include "layout/shared_layouts.hpp"
#include "transform/common/axis_division.hpp"
#include "transform/common/loop_regions.hpp"
#include "transform/common/spread_ctas.hpp"

namespace tegula::transform {
namespace {

using ir::Op;
using ir::Type;
using ir::Value;

constexpr std::int64_t word_bytes = 4;

/// Rewrites a kernel whose axis is divided.
class Spread {
 public:
  Spread(ir::Function& function, std::int64_t ctas) : function_(function), ctas_(ctas) {}

  void run(AxisDivision& division, Op& grid) {
    std::vector<Op*> const reductions = division.reductions(), effects = division.effects_of_all();
    division.run(grid);
    function_.cluster = static_cast<int>(ctas_);
    begin(static_cast<std::int64_t>(reductions.size()));
    for (std::size_t i = 0; i < reductions.size(); ++i) join(*reductions[i], static_cast<std::int64_t>(i));
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
    builder.op(ir::ClusterArriveOp{}, {}, {});
  }

  Value* slot(ir::Builder& builder, Value* slots, Type const& tile, Value* number) {
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

  /// Hands the result of a reduction to all CTAs, and puts the combination of their results in its place.
  void join(Op& reduction, std::int64_t number) {
    Value* const own = reduction.result();
    Type const tile = own->type();
    std::vector<ir::Use> const uses = own->uses();
    ir::Builder builder = ir::Builder::after(reduction);
    builder.set_where(reduction.where());
    if (number == 0) builder.op(ir::ClusterWaitOp{}, {}, {});
    Extents shape = tile.shape();
    shape.insert(0, ctas_);
    Value* const slots = builder.value(ir::make_op<ir::BufferAllocOp>(std::int64_t{16}), {},
                                       Type::shared(tile.element(), shape, layout::dense_layout(shape)));
    slots->set_name("parts");
    Value* const full = full_[static_cast<std::size_t>(number)];
    std::int64_t const bytes_of_all = ctas_ * tile.elements() * word_bytes;
    elected(builder, ir::LoopRegion::none,
            [&](ir::Builder& lane) { lane.op(ir::make_op<ir::MbarrierExpectOp>(bytes_of_all), {full}, {}); });
    Value* const place = slot(builder, slots, tile, rank_);
    for (std::int64_t peer = 0; peer < ctas_; ++peer)
      builder.op(ir::PeerStoreOp{}, {place, own, full, builder.index(peer)}, {});
    builder.op(ir::make_op<ir::MbarrierWaitOp>(ir::MemoryScope::cluster), {full, builder.index(0)}, {});
    std::vector<Value*> parts;
    for (std::int64_t peer = 0; peer < ctas_; ++peer)
      parts.push_back(builder.value(ir::BufferLoadOp{}, {slot(builder, slots, tile, builder.index(peer))}, tile));
    while (parts.size() > 1) {
      std::vector<Value*> pairs;
      for (std::size_t i = 0; i + 1 < parts.size(); i += 2)
        pairs.push_back(combined(builder, reduction.as<ir::ReduceOp>().combine, parts[i], parts[i + 1]));
      if (parts.size() % 2 != 0) pairs.push_back(parts.back());
      parts = std::move(pairs);
    }
    for (ir::Use const& use : uses) use.user->set_operand(use.index, parts.front());
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
  std::int64_t ctas_;
  Value* rank_ = nullptr;
  std::vector<Value*> full_;  ///< by reduction
};

}  // namespace

PassResult spread_rows(ir::Function& function, AnalysisCache&, PassContext& context) {
  if (ctas_of_rows(function, context.options, context.target) == 1) return PassResult::unchanged;
  AxisClasses const classes(function, AxisClasses::Layouts::divided);
  RowShares const shares = shares_of_rows(function, classes, context.options, context.target);
  if (shares.ctas == 1) return PassResult::unchanged;
  Op* grid = nullptr;
  ir::walk(function, [&](Op& op) { grid = op.is<ir::GridOp>() ? &op : grid; });
  AxisDivision division(function, classes, shares.axis_class, shares.ctas);
  Spread(function, shares.ctas).run(division, *grid);
  return PassResult::changed;
}

}  // namespace tegula::transform

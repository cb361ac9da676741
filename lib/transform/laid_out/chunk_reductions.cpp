#include "transform/laid_out/chunk_reductions.hpp"

#include <algorithm>

#include "analysis/effects.hpp"
#include "ir/infer/infer.hpp"
#include "layout/layout.hpp"

namespace tegula::transform {

using ir::Op;
using ir::Type;
using ir::Value;

namespace {

Value* combined(ir::Builder& builder, ir::Combine combine, Value* a, Value* b) {
  if (combine == ir::Combine::sum) return builder.same(ir::AddOp{}, {a, b});
  return combine == ir::Combine::max ? builder.same(ir::MaxOp{}, {a, b}) : builder.same(ir::MinOp{}, {a, b});
}

/// Tells whether parts of a reduction may be combined in any order, by an op.
bool may_be_parted(ir::ReduceOp const& reduce) {
  bool const free = reduce.order == ir::Order::any || reduce.combine != ir::Combine::sum;
  return free && reduce.combine != ir::Combine::product;
}

}  // namespace

std::vector<Op*> ChunkReductions::possible() const {
  std::vector<Op*> found;
  int const axis = chunks_.only_axis();
  if (axis < 0) return found;
  for (Op& op : chunks_.block()) {
    if (!op.is<ir::ReduceOp>() || !chunks_.alike(*op.operand())) continue;
    auto const& reduce = op.as<ir::ReduceOp>();
    if (reduce.axis != axis || !may_be_parted(reduce)) continue;
    if (bytes(op.result()->type().element()) != 4 || !folded_type(reduce, op.operand()->type().element())) continue;
    if (late_ops(op)) found.push_back(&op);
  }
  return found;
}

void ChunkReductions::take(std::vector<Op*> reductions) {
  reductions_ = std::move(reductions);
  for (Op const* reduction : reductions_) {
    auto const late = late_ops(*reduction);
    for (Op* op : *late)
      if (std::find(late_.begin(), late_.end(), op) == late_.end()) late_.push_back(op);
  }
  std::sort(late_.begin(), late_.end(), [&](Op* a, Op* b) { return places_.at(a) < places_.at(b); });
}

/// Lists the ops that follow from a reduction; nothing: some of them cannot come after the last chunk.
std::optional<std::vector<Op*>> ChunkReductions::late_ops(Op const& reduction) const {
  std::vector<Op*> late;
  std::vector<Op const*> left = {&reduction};
  while (!left.empty()) {
    Op const* const op = left.back();
    left.pop_back();
    for (int i = 0; i < op->result_count(); ++i)
      for (ir::Use const& use : op->result(i)->uses()) {
        Op* const user = use.user;
        if (user == &chunks_.block().back() || std::find(late.begin(), late.end(), user) != late.end()) continue;
        if (user->parent() != &chunks_.block()) return std::nullopt;
        bool const stores = user->is<ir::StoreOp>() && !chunks_.is_stored_whole(*user) &&
                            analysis::may_wait_for(*user, chunks_.last_point());
        bool const computes = user->pure() && user->block_count() == 0;
        if (!stores && !computes) return std::nullopt;
        for (int k = 0; k < user->result_count(); ++k)
          if (chunks_.alike(*user->result(k))) return std::nullopt;
        late.push_back(user);
        left.push_back(user);
      }
  }
  return late;
}

/// Returns the fold of chunks along the axis of a reduction: the elements of one thread.
ir::FoldOp ChunkReductions::fold_of(ir::ReduceOp const& reduction) const {
  std::int64_t const axis = chunks_.parted() != nullptr ? 2 : reduction.axis;
  return ir::make_op<ir::FoldOp>(axis, reduction.combine);
}

std::optional<Type> ChunkReductions::folded_type(ir::ReduceOp const& reduction, Element element) const {
  auto const folded = ir::infer(fold_of(reduction), {chunks_.type(element, 0)});
  return folded.ok() ? std::optional(folded.types.front()) : std::nullopt;
}

void ChunkReductions::combine(ir::Builder& builder, ir::ValueMap const& map) {
  for (Op const* reduction : reductions_) {
    auto const& reduce = reduction->as<ir::ReduceOp>();
    builder.set_where(reduction->where());
    Value* const chunk = map.at(reduction->operand());
    Value* const folded = builder.value(fold_of(reduce), {chunk}, *folded_type(reduce, chunk->type().element()));
    Value*& so_far = combined_[reduction];
    so_far = so_far == nullptr ? folded : combined(builder, reduce.combine, so_far, folded);
  }
}

void ChunkReductions::finish() {
  Op& last = chunks_.last_point();
  ir::Builder builder = ir::Builder::before(last);
  for (Op* reduction : reductions_) {
    builder.set_where(reduction->where());
    Value* all = combined_.at(reduction);
    if (chunks_.parted() != nullptr) {
      Extents const& shape = all->type().shape();
      Extents const flat = {shape[0], shape[1] * shape[2]};
      all = builder.value(ir::ReshapeOp{}, {all},
                          Type::tile(all->type().element(), flat, all->type().layout()->reshaped(flat)));
    }
    ir::replace(*reduction, builder.value(reduction->as<ir::ReduceOp>(), {all}, reduction->result()->type()));
  }
  for (Op* op : late_)
    if (places_.at(op) < places_.at(&last)) op->move_before(last);
}

}  // namespace tegula::transform

#include "transform/laid_out/chunk_reductions.hpp"

#include <algorithm>

#include "analysis/effects.hpp"
#include "ir/infer/infer.hpp"
#include "ir/memory/exchange.hpp"
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

/// Returns the layout in which threads hold one element after the other.
layout::Layout const* spread(Extents const& shape, int warps) {
  Extents order, one;
  for (int axis = shape.size() - 1; axis >= 0; --axis) {
    order.push_back(axis);
    one.push_back(1);
  }
  return layout::Layout::blocked(shape, one, warps, order);
}

/// Tells whether parts of a reduction may be combined in any order, by an op.
bool may_be_parted(ir::ReduceOp const& reduce) {
  bool const free = reduce.order == ir::Order::any || reduce.combine != ir::Combine::sum;
  return free && reduce.combine != ir::Combine::product;
}

}  // namespace

std::vector<Op*> ChunkReductions::possible() const {
  std::vector<Op*> found;
  if (chunks_.only_axis() < 0) return found;
  for (Op& op : chunks_.block()) {
    if (!op.is<ir::ReduceOp>() || !chunks_.alike(*op.operand())) continue;
    if (way_of(op) && late_ops(op)) found.push_back(&op);
  }
  return found;
}

std::optional<ChunkReductions::Way> ChunkReductions::way_of(Op const& reduction) const {
  auto const& reduce = reduction.as<ir::ReduceOp>();
  if (reduce.axis != chunks_.only_axis()) return reduced_type(reduction) ? std::optional(Way::append) : std::nullopt;
  if (!may_be_parted(reduce) || bytes(reduction.result()->type().element()) != 4) return std::nullopt;
  if (folded_type(reduce, reduction.operand()->type().element())) return Way::fold;
  return reduced_type(reduction) ? std::optional(Way::combine) : std::nullopt;
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
        bool const writes = user->is<ir::StoreOp>() || user->is<ir::ScatterOp>() || user->is<ir::AtomicUpdateOp>();
        bool const stores =
            writes && !chunks_.is_stored_whole(*user) && analysis::may_wait_for(*user, chunks_.last_point());
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
  return ir::make_op<ir::FoldOp>(std::int64_t{axis_of_chunk(reduction.axis)}, reduction.combine);
}

std::optional<Type> ChunkReductions::folded_type(ir::ReduceOp const& reduction, Element element) const {
  auto const folded = ir::infer(fold_of(reduction), {chunks_.type(element, 0)});
  return folded.ok() ? std::optional(folded.types.front()) : std::nullopt;
}

/// Returns the type of what the reduction of a chunk leaves; nothing: threads cannot reduce chunks, or put these parts
/// one behind the other.
std::optional<Type> ChunkReductions::reduced_type(Op const& reduction) const {
  auto const& reduce = reduction.as<ir::ReduceOp>();
  Type const chunk = flat(chunks_.type(reduction.operand()->type().element(), 0));
  auto const axis = static_cast<int>(reduce.axis);
  if (chunks_.tile().type().rank() != 2 || chunk.layout() == nullptr ||
      !ir::reduction_steps(*chunk.layout(), axis, reduce.order))
    return std::nullopt;
  Extents shape = chunk.shape();
  shape[axis] = 1;
  Type const& whole = reduction.result()->type();
  layout::Layout const* layout = chunk.layout()->collapsed(axis);
  if (ir::exchanges_last(reduction, *chunk.layout()))
    layout = shape == whole.shape() ? whole.layout() : spread(shape, reduction.function()->warps);
  return Type::tile(whole.element(), shape, layout);
}

/// Returns the type of a chunk without the axis of the groups, if the chunk has all columns of each.
Type ChunkReductions::flat(Type const& chunk) const {
  if (chunks_.parted() == nullptr || chunks_.only_axis() != 0) return chunk;
  Extents const shape = {chunk.shape()[0], chunk.shape()[1] * chunk.shape()[2]};
  return Type::tile(chunk.element(), shape, chunk.layout()->reshaped(shape));
}

/// Returns the axis of a chunk that has elements of an axis of the tile.
int ChunkReductions::axis_of_chunk(std::int64_t axis) const {
  return chunks_.parted() != nullptr && axis == 1 ? 2 : static_cast<int>(axis);
}

/// Computes what a chunk adds to a reduction.
Value* ChunkReductions::part_of(ir::Builder& builder, Op const& reduction, Value* chunk) const {
  auto const& reduce = reduction.as<ir::ReduceOp>();
  if (way_of(reduction) == Way::fold)
    return builder.value(fold_of(reduce), {chunk}, *folded_type(reduce, chunk->type().element()));
  if (Type const type = flat(chunk->type()); type != chunk->type())
    chunk = builder.value(ir::ReshapeOp{}, {chunk}, type);
  return builder.value(reduce, {chunk}, *reduced_type(reduction));
}

/// Puts what the reduction of a chunk left behind that of the chunks before.
Value* ChunkReductions::appended(ir::Builder& builder, Value* so_far, Value* part) const {
  int const axis = axis_of_chunk(chunks_.only_axis());
  Extents shape = so_far->type().shape();
  shape[axis] += part->type().shape()[axis];
  std::int64_t const parts = shape[axis] / part->type().shape()[axis];
  Type const type = Type::tile(part->type().element(), shape, part->type().layout()->repeated(axis, parts));
  return builder.value(ir::make_op<ir::ConcatenateOp>(std::int64_t{axis}), {so_far, part}, type);
}

void ChunkReductions::combine(ir::Builder& builder, ir::ValueMap const& map) {
  for (Op const* reduction : reductions_) {
    builder.set_where(reduction->where());
    Value* const part = part_of(builder, *reduction, map.at(reduction->operand()));
    Value*& so_far = combined_[reduction];
    if (so_far == nullptr)
      so_far = part;
    else if (way_of(*reduction) == Way::append)
      so_far = appended(builder, so_far, part);
    else
      so_far = combined(builder, reduction->as<ir::ReduceOp>().combine, so_far, part);
  }
}

void ChunkReductions::finish() {
  Op& last = chunks_.last_point();
  ir::Builder builder = ir::Builder::before(last);
  for (Op* reduction : reductions_) {
    builder.set_where(reduction->where());
    Value* all = combined_.at(reduction);
    if (Extents const& shape = all->type().shape(); shape.size() == 3) {
      Extents const flat = {shape[0], shape[1] * shape[2]};
      all = builder.value(ir::ReshapeOp{}, {all},
                          Type::tile(all->type().element(), flat, all->type().layout()->reshaped(flat)));
    }
    Type const& result = reduction->result()->type();
    if (way_of(*reduction) == Way::fold) all = builder.value(reduction->as<ir::ReduceOp>(), {all}, result);
    if (all->type() != result) all = builder.value(ir::ConvertLayoutOp{}, {all}, result);
    ir::replace(*reduction, all);
  }
  for (Op* op : late_)
    if (places_.at(op) < places_.at(&last)) op->move_before(last);
}

}  // namespace tegula::transform

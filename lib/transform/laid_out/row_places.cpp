#include "transform/laid_out/row_places.hpp"

#include <algorithm>
#include <vector>

#include "analysis/effects.hpp"
#include "ir/core/builder.hpp"
#include "ir/core/families.hpp"
#include "ir/core/loop.hpp"
#include "ir/memory/exchange.hpp"
#include "ir/text/text.hpp"

namespace tegula::transform {

using ir::Op;
using ir::Type;
using ir::Value;

Value* RowPlaces::of(Value& value) {
  if (!value.type().is_tile()) return &value;
  if (auto const found = placed_.find(&value); found != placed_.end()) return found->second;
  Value* const result = value.defining_op() == nullptr ? carried(value) : computed(value);
  if (result == nullptr && unknown_.empty())
    unknown_ =
        value.defining_op() == nullptr ? ir::to_string(value) : std::string(value.defining_op()->info().mnemonic);
  return placed_[&value] = result;
}

/// Returns the layout of a row of tiles, or of a column of them; null: it is another tile.
layout::Layout const* RowPlaces::layout_of(Type const& type) const {
  if (type.shape()[0] != chunks_.shape()[0]) return nullptr;
  if (type.rank() == 1) return chunks_.sliced(1);
  return type.rank() == 2 && type.shape()[1] == 1 ? chunks_.collapsed(1) : nullptr;
}

Value* RowPlaces::computed(Value& value) {
  Op& from = *value.defining_op();
  if (from.is<ir::ConvertLayoutOp>()) return of(*from.operand());
  if (from.is<ir::ForOp>()) {
    ir::Loop const loop(from);
    Value* const last = of(*loop.carried(value.index()));
    return last == nullptr ? nullptr : loop.result(loop.carry_of(*last));
  }
  layout::Layout const* const layout = layout_of(value.type());
  bool const moves =
      from.is<ir::ExpandDimsOp>() || from.is<ir::ReshapeOp>() || from.is<ir::BroadcastOp>() || ir::makes_elements(from);
  bool const reads = from.is<ir::LoadOp>() || from.is<ir::GatherOp>();
  if (layout == nullptr || from.result_count() != 1 || from.block_count() != 0 || !analysis::is_movable(from) ||
      !(moves || reads || from.is(ir::Family::elementwise)))
    return nullptr;
  ir::ValueMap map;
  for (Value* operand : from.operands()) {
    Value* const placed = operand->type().is_tile() ? of(*operand) : operand;
    if (placed == nullptr) return nullptr;
    map[operand] = placed;
  }
  ir::Builder builder = ir::Builder::before(from);
  builder.set_where(from.where());
  Op& copy = builder.clone(from, map);
  copy.result()->set_type(value.type().with_layout(layout));
  auto const narrow = [&](std::int64_t& vector) {
    vector = std::min<std::int64_t>(std::max<std::int64_t>(vector, 1), layout->contiguous(value.type().rank() - 1));
  };
  if (auto* const load = copy.dyn<ir::LoadOp>()) narrow(load->vector);
  if (auto* const gather = copy.dyn<ir::GatherOp>()) narrow(gather->vector);
  return copy.result();
}

/// Carries the indices of a later iteration's rows, beside those that a loop carries already.
Value* RowPlaces::carried(Value& value) {
  Op* const around = value.owner_block() == nullptr ? nullptr : value.owner_block()->parent_op();
  if (around == nullptr || !around->is<ir::ForOp>()) return nullptr;
  ir::Loop const loop(*around);
  int const k = loop.carry_of(value);
  if (k < 0) return nullptr;
  Value* const init = of(*loop.init(k));
  if (init == nullptr) return nullptr;
  Value* const result = loop.add_carry(init);
  placed_[&value] = result;
  Value* const next = of(*loop.yielded(k));
  loop.yield().add_operand(next == nullptr ? result : next);
  return next == nullptr ? nullptr : result;
}

}  // namespace tegula::transform

#include "transform/laid_out/column_shares.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "analysis/effects.hpp"
#include "analysis/launch_cost.hpp"
#include "ir/core/families.hpp"
#include "ir/core/walk.hpp"
#include "layout/parts.hpp"

namespace tegula::transform {

using ir::Op;
using ir::Type;
using ir::Value;
using layout::Layout;

namespace {

std::string mnemonic(Op const& op) { return std::string(op.info().mnemonic); }

/// Returns the axis of the operand that an axis of the result comes from; empty: none.
std::optional<int> source_axis(Op const& op, int axis) {
  if (op.is<ir::TransOp>()) return static_cast<int>(op.as<ir::TransOp>().permutation[axis]);
  if (op.is<ir::ExpandDimsOp>()) {
    Extents const& added = op.as<ir::ExpandDimsOp>().axes;
    if (std::find(added.begin(), added.end(), axis) != added.end()) return std::nullopt;
    return axis - static_cast<int>(std::count_if(added.begin(), added.end(), [&](auto a) { return a < axis; }));
  }
  if (op.is<ir::BroadcastOp>() && op.operand()->type().shape()[axis] == 1) return std::nullopt;
  return axis;
}

/// Returns the axis of the result that an axis of the operand becomes.
int result_axis(Op const& op, int axis) {
  for (int to = 0; to < op.result()->type().rank(); ++to)
    if (source_axis(op, to) == axis) return to;
  return axis;
}

bool renames_axes(Op const& op) {
  return op.is<ir::TransOp>() || op.is<ir::ExpandDimsOp>() || op.is<ir::BroadcastOp>() || op.is<ir::ConvertLayoutOp>();
}
bool computes_elements(Op const& op) {
  return op.is(ir::Family::elementwise) && op.pure() && op.result_count() == 1 && op.block_count() == 0;
}

/// Returns the elements that accesses to a share may move at once.
std::int64_t at_once(std::int64_t vector, Type const& share) {
  int const last = share.rank() - 1;
  if (vector <= 1 || last < 0) return vector;
  return std::gcd(std::min<std::int64_t>(vector, share.layout()->contiguous(last)), share.shape()[last]);
}

template <class Access>
bool is_cut_at_end(Op const& access, Type const& tile) {
  return access.as<Access>().part.empty() &&
         access.all<Access>("offsets").size() >= static_cast<std::size_t>(tile.rank());
}

/// Returns the operand that places a tile's axis: places are the last operands, of the last axes too.
int place_of(Op const& access, Type const& tile, int axis) { return access.operand_count() - tile.rank() + axis; }

}  // namespace

std::string ColumnShares::find() {
  for (Op* op : tail_) {
    ops_.push_back(op);
    for (int b = 0; b < op->block_count(); ++b) ir::walk(op->block(b), [&](Op& inner) { ops_.push_back(&inner); });
  }
  inside_.insert(ops_.begin(), ops_.end());
  for (Value* sum : sums_) {
    if (sum->type().shape().back() < analysis::min_share_columns * shares_)
      return fmt::format("shares would have less than {} columns", analysis::min_share_columns);
    if (std::string error = keep(*sum, sum->type().rank() - 1, nullptr); !error.empty()) return error;
  }
  for (Op* op : ops_)
    if (std::string error = find(*op); !error.empty()) return error;
  return {};
}

bool ColumnShares::takes_a_share(Op const& op) const {
  auto const operands = op.operands();
  return std::any_of(operands.begin(), operands.end(), [&](Value const* value) { return is_cut(*value); });
}

std::string ColumnShares::find(Op& op) {
  if (takes_a_share(op)) return analysis::runs_once(op) ? cut_effect(op) : cut_result(op);
  if (analysis::runs_once(op)) return mnemonic(op) + " does not depend on the columns of the sum";
  if (op.is(ir::Family::control) && !op.is<ir::IfOp>() && !op.info().has(ir::terminator)) return "a loop takes the sum";
  return {};
}

std::string ColumnShares::cut_effect(Op& op) {
  if (op.is<ir::StoreOp>()) {
    Value const& tile = *op.in<ir::StoreOp>("tile");
    if (is_cut(tile) && is_cut_at_end<ir::StoreOp>(op, tile.type())) return {};
  } else if (op.is<ir::AtomicUpdateOp>() && op.as<ir::AtomicUpdateOp>().box) {
    Value const& tile = *op.in<ir::AtomicUpdateOp>("tile");
    auto const indices = op.all<ir::AtomicUpdateOp>("indices");
    bool const places =
        std::none_of(indices.begin(), indices.end(), [](Value const* at) { return at->type().is_tile(); });
    bool const unused = op.result_count() == 0 || op.result()->uses().empty();
    if (is_cut(tile) && places && unused && indices.size() >= static_cast<std::size_t>(tile.type().rank())) return {};
  }
  return mnemonic(op) + " takes whole rows of the sum";
}

std::string ColumnShares::cut_result(Op& op) {
  if (op.result_count() != 1 || !op.result()->type().is_tile()) return mnemonic(op) + " takes whole rows of the sum";
  Value* first = nullptr;
  for (Value* operand : op.operands())
    if (first == nullptr && is_cut(*operand)) first = operand;
  Cut const& cut = cuts_.at(first);
  if (renames_axes(op)) return keep(*op.result(), result_axis(op, cut.axis), cut.type.layout());
  if (!computes_elements(op)) return mnemonic(op) + " takes whole rows of the sum";
  if (std::string error = demand_operands(op, cut.axis, cut.type.layout()); !error.empty()) return error;
  return keep(*op.result(), cut.axis, cut.type.layout());
}

std::string ColumnShares::demand_operands(Op& op, int axis, Layout const* result) {
  for (Value* operand : op.operands()) {
    if (!operand->type().is_tile()) continue;
    if (std::string error = demand(*operand, axis); !error.empty()) return error;
    if (result != nullptr && cuts_.at(operand).type.layout() != result) return mnemonic(op) + " joins two layouts";
  }
  return {};
}

/// Wants a share of a value along an axis.
std::string ColumnShares::demand(Value& value, int axis) {
  if (auto const found = cuts_.find(&value); found != cuts_.end())
    return found->second.axis == axis ? "" : "a tile is needed along two axes";
  Op* const op = value.defining_op();
  if (op == nullptr || op->result_count() != 1) return "a tile comes from a loop";
  if (!inside_.contains(op) && !analysis::is_movable(*op)) return mnemonic(*op) + " stands ahead of the loop";
  if (op->is<ir::LoadOp>()) {
    if (!is_cut_at_end<ir::LoadOp>(*op, value.type())) return "a load has parts";
    if (std::string error = reads_what_others_store(*op); !error.empty()) return error;
  } else if (renames_axes(*op)) {
    auto const from = source_axis(*op, axis);
    if (from)
      if (std::string error = demand(*op->operand(), *from); !error.empty()) return error;
  } else if (computes_elements(*op)) {
    if (std::string error = demand_operands(*op, axis, nullptr); !error.empty()) return error;
  } else if (!op->is<ir::ConstantOp>() && !op->is<ir::IotaOp>() && !op->is<ir::SplatOp>()) {
    return mnemonic(*op) + " is needed whole";
  }
  return keep(value, axis, nullptr);
}

/// A load and the stores of the same box go together; another CTA may store what is loaded from elsewhere.
std::string ColumnShares::reads_what_others_store(Op const& load) const {
  if (analysis::reads_constant_memory(load)) return {};
  for (Op const* op : ops_) {
    if (!analysis::runs_once(*op)) continue;
    bool const same = op->is<ir::StoreOp>() && op->in<ir::StoreOp>("tensor") == load.in<ir::LoadOp>("tensor") &&
                      op->in<ir::StoreOp>("tile")->type().shape() == load.result()->type().shape() &&
                      std::ranges::equal(op->all<ir::StoreOp>("offsets"), load.all<ir::LoadOp>("offsets"));
    if (!same) return "a load may read what another CTA stores";
  }
  return {};
}

/// Decides that a value is cut. `preferred`: the layout of the share of what it comes from, which a conversion passes
/// on where its own layout cannot be cut.
std::string ColumnShares::keep(Value& value, int axis, Layout const* preferred) {
  Type const& whole = value.type();
  Extents shape = whole.shape();
  if (axis < 0 || shape[axis] % shares_ != 0) return "its columns have no equal shares";
  shape[axis] /= shares_;
  Layout const* layout =
      whole.layout() == nullptr ? nullptr : layout::layout_of_parts(*whole.layout(), whole.shape(), shape, axis);
  Op const* const op = value.defining_op();
  bool const passes = op != nullptr && (op->is<ir::ConvertLayoutOp>() || computes_elements(*op));
  if (passes && preferred != nullptr && (layout == nullptr || computes_elements(*op))) layout = preferred;
  if (layout == nullptr) return "warps or lanes divide its columns";
  if (preferred != nullptr && op != nullptr && renames_axes(*op) && !op->is<ir::ConvertLayoutOp>()) {
    Type const& operand = op->operand()->type();
    Extents from = operand.shape();
    from[*source_axis(*op, axis)] /= shares_;
    if (layout::layout_of_parts(*operand.layout(), operand.shape(), from, *source_axis(*op, axis)) != preferred)
      return "a conversion is needed";
  }
  cuts_.emplace(&value, Cut{axis, Type::tile(whole.element(), shape, layout)});
  return {};
}

Value* ColumnShares::moved(ir::Builder& builder, Value& offset, std::int64_t columns) {
  return builder.same(ir::AddOp{}, {&offset, builder.same(ir::MulOp{}, {rank_, builder.index(columns)})});
}

Value* ColumnShares::made(Value& value) {
  if (auto const found = made_.find(&value); found != made_.end()) return found->second;
  make(*value.defining_op());
  return made_.at(&value);
}

/// Makes the share of an op's result, or of what it stores.
void ColumnShares::make(Op& op) {
  ir::ValueMap map;
  for (Value* operand : op.operands())
    if (is_cut(*operand)) map[operand] = made(*operand);
  ir::Builder builder = ir::Builder::before(inside_.contains(&op) ? op : *tail_.front());
  builder.set_where(op.where());
  if (op.result_count() == 1 && is_cut(*op.result())) {
    Value& result = *op.result();
    Cut const& cut = cuts_.at(&result);
    std::int64_t const columns = cut.type.shape()[cut.axis];
    if (op.is<ir::ConvertLayoutOp>() && map.at(op.operand())->type() == cut.type) {
      made_[&result] = map.at(op.operand());
      return;
    }
    Op& share = builder.clone(op, map);
    share.result()->set_type(cut.type);
    if (op.is<ir::LoadOp>()) {
      int const place = place_of(op, result.type(), cut.axis);
      ir::Builder before = ir::Builder::before(share);
      before.set_where(op.where());
      share.set_operand(place, moved(before, *op.operand(place), columns));
      share.as<ir::LoadOp>().vector = at_once(op.as<ir::LoadOp>().vector, cut.type);
    }
    made_[&result] = share.result();
    if (op.is<ir::IotaOp>() && op.as<ir::IotaOp>().axis == cut.axis) {
      Value* first = builder.same(ir::MulOp{}, {rank_, builder.index(columns)});
      Type const number = Type::scalar(cut.type.element());
      if (!(first->type() == number)) first = builder.value(ir::CastOp{}, {first}, number);
      Value* const all = builder.value(ir::SplatOp{}, {first}, cut.type);
      made_[&result] = builder.same(ir::AddOp{}, {share.result(), all});
    }
    return;
  }
  Op& share = builder.clone(op, map);
  ir::Builder before = ir::Builder::before(share);
  before.set_where(op.where());
  auto const move = [&](Value const& tile, int place, std::int64_t& vector) {
    Cut const& cut = cuts_.at(&tile);
    share.set_operand(place, moved(before, *op.operand(place), cut.type.shape()[cut.axis]));
    vector = at_once(vector, cut.type);
  };
  if (op.is<ir::StoreOp>()) {
    Value const& tile = *op.in<ir::StoreOp>("tile");
    move(tile, place_of(op, tile.type(), cuts_.at(&tile).axis), share.as<ir::StoreOp>().vector);
  } else {
    Value const& tile = *op.in<ir::AtomicUpdateOp>("tile");
    move(tile, place_of(op, tile.type(), cuts_.at(&tile).axis), share.as<ir::AtomicUpdateOp>().vector);
    if (share.result_count() == 1) share.result()->set_type(cuts_.at(&tile).type);
  }
}

void ColumnShares::rewrite(std::vector<Value*> const& totals, Value& rank) {
  rank_ = &rank;
  for (std::size_t i = 0; i < sums_.size(); ++i) made_[sums_[i]] = totals[i];
  for (Op* op : ops_) {
    if (analysis::runs_once(*op) && takes_a_share(*op)) make(*op);
  }
  for (auto at = ops_.rbegin(); at != ops_.rend(); ++at) {
    Op& op = **at;
    bool const cut = (op.result_count() == 1 && is_cut(*op.result())) || takes_a_share(op);
    bool const unused = op.result_count() == 0 || op.result()->uses().empty();
    if (cut && unused) op.erase();
  }
}

}  // namespace tegula::transform

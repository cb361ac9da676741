#include "transform/common/axis_division.hpp"

#include <algorithm>
#include <limits>

#include "analysis/effects.hpp"
#include "ir/core/builder.hpp"
#include "ir/core/rewrite.hpp"
#include "ir/core/walk.hpp"
#include "ir/memory/accesses.hpp"
#include "layout/parts.hpp"
#include "transform/common/grid_extents.hpp"

namespace tegula::transform {

using ir::Op;
using ir::Type;
using ir::Value;

AxisDivision::AxisDivision(ir::Function& function, AxisClasses const& classes, int divided, std::int64_t parts)
    : function_(function), classes_(classes), class_(divided), parts_(parts), extent_(classes.extent(divided) / parts) {
  ir::walk(function_, [&](Op& op) {
    each_tile(op, [&](Value& tile) {
      for (int axis = 0; axis < tile.type().rank(); ++axis)
        if (classes_.of(tile, axis) == class_) axes_[&tile].insert(axis);
    });
  });
  ir::walk(function_, [&](Op& op) {
    bool any = false;
    each_tile(op, [&](Value& tile) { any = any || axis_of(tile); });
    if (op.is<ir::ReduceOp>() && is_along(*op.operand(), op.as<ir::ReduceOp>().axis)) reductions_.push_back(&op);
    if (op.info().effects.writes(ir::Space::global) && !any) effects_.push_back(&op);
  });
}

bool AxisDivision::possible() const {
  if (classes_.is_fixed(class_) || extent_ * parts_ != classes_.extent(class_)) return false;
  bool possible = true;
  ir::walk(function_, [&](Op& op) { possible = possible && divides(op); });
  return possible;
}

void AxisDivision::run(Op& grid) {
  std::vector<Op*> ops;
  ir::walk(function_, [&](Op& op) { ops.push_back(&op); });
  ir::Builder builder = ir::Builder::before(function_.body().front());
  Value* const at = builder.op(ir::make_op<ir::BlockIndexOp>(std::int64_t{0}), {}, {Type::index()}).result();
  Value* const count = builder.index(parts_);
  Value* const block = builder.same(ir::DivOp{}, {at, count});
  first_ = builder.same(ir::MulOp{}, {builder.same(ir::RemOp{}, {at, count}), builder.index(extent_)});
  first_->set_name("first");
  for (Op* op : ops) {
    if (op->is<ir::BlockIndexOp>() && op->as<ir::BlockIndexOp>().axis == 0) {
      ir::replace(*op, block);
    } else if (op->is<ir::GridExtentOp>() && op->as<ir::GridExtentOp>().axis == 0) {
      ir::replace_uses(*op->result(), [&] {
        ir::Builder after = ir::Builder::after(*op);
        return after.same(ir::DivOp{}, {op->result(), after.index(parts_)});
      });
    } else {
      move(*op);
    }
  }
  multiply_blocks(grid, parts_);
}

/// Returns the axis of a tile that is divided; nothing: none.
std::optional<int> AxisDivision::axis_of(Value const& tile) const {
  auto const found = axes_.find(&tile);
  return found == axes_.end() ? std::nullopt : std::optional(*found->second.begin());
}
bool AxisDivision::is_along(Value const& tile, std::int64_t axis) const {
  return axis_of(tile) == std::optional(static_cast<int>(axis));
}

/// Tells whether no tile of an op has the divided axis twice, and threads hold the same elements of each part.
bool AxisDivision::has_parts(Op const& op) const {
  bool holds = true;
  each_tile(op, [&](Value& tile) {
    auto const found = axes_.find(&tile);
    if (found == axes_.end()) return;
    holds = holds && found->second.size() == 1 && part_of(tile.type(), *found->second.begin());
  });
  return holds;
}

/// Tells whether an op needs elements of several parts at once.
bool AxisDivision::joins_parts(Op const& op) const {
  if (op.is<ir::DotOp>()) return is_along(*op.lhs(), 1);
  if (op.is<ir::ScanOp>()) return is_along(*op.operand(), op.as<ir::ScanOp>().axis);
  bool any = false;
  each_tile(op, [&](Value& tile) { any = any || axis_of(tile); });
  if (!any) return false;
  if (op.is<ir::LoadOp>()) return !whole_part(op.as<ir::LoadOp>().part, *op.result());
  if (op.is<ir::StoreOp>()) return !whole_part(op.as<ir::StoreOp>().part, *op.in("tile"));
  return op.is<ir::TableOp>();
}

bool AxisDivision::divides(Op const& op) const {
  if (!has_parts(op) || joins_parts(op)) return false;
  if (op.is<ir::CallOp>() || op.is<ir::MultiprocessorsOp>()) return false;
  if (op.info().effects.writes(ir::Space::console)) return false;
  if (op.info().effects.writes(ir::Space::global)) return true;
  if (op.info().effects.reads(ir::Space::global) && !analysis::reads_constant_memory(op)) return is_updated(op);
  return true;
}

/// Tells whether the part of a tile that an op accesses is all of the divided axis.
bool AxisDivision::whole_part(Extents const& part, Value const& tile) const {
  auto const axis = axis_of(tile);
  return part.empty() || !axis || part[*axis] == tile.type().shape()[*axis];
}

/// Tells whether a load of written memory reads the box that each store to its tensor writes: of the other parts'
/// elements it reads none.
bool AxisDivision::is_updated(Op const& load) const {
  if (!load.is<ir::LoadOp>() || !axis_of(*load.result())) return false;
  auto const offsets = load.all<ir::LoadOp>("offsets");
  bool found = true;
  ir::walk(function_, [&](Op& op) {
    if (!op.info().effects.writes(ir::Space::global)) return;
    bool const alike = op.is<ir::StoreOp>() && op.operand(0) == load.operand(0) &&
                       op.in("tile")->type().shape() == load.result()->type().shape() &&
                       axis_of(*op.in("tile")) == axis_of(*load.result()) &&
                       std::equal(offsets.begin(), offsets.end(), op.all<ir::StoreOp>("offsets").begin());
    bool const elsewhere = &ir::parameter_behind(*op.operand(0)) != &ir::parameter_behind(*load.operand(0));
    found = found && (alike || elsewhere);
  });
  return found;
}

/// Returns the type of a part of a tile; nothing: threads hold other elements in one part than in another.
std::optional<Type> AxisDivision::part_of(Type const& whole, int axis) const {
  Extents shape = whole.shape();
  shape[axis] = extent_;
  Type const part = whole.with_shape(shape);
  if (whole.layout() == nullptr) return part;
  layout::Layout const* const held = layout::layout_of_parts(*whole.layout(), whole.shape(), shape, axis);
  return held == nullptr ? std::nullopt : std::optional(part.with_layout(held));
}

/// Divides the op's tiles, and moves its box or coordinates to the part.
void AxisDivision::move(Op& op) {
  each_tile(op, [&](Value& tile) {
    auto const axis = axis_of(tile);
    if (!axis || !done_.insert(&tile).second) return;
    tile.set_type(*part_of(tile.type(), *axis));
  });
  if (auto* const load = op.dyn<ir::LoadOp>(); load && op.result()->type().is_tile())
    move_box(op, load->part, *op.result());
  if (auto* const store = op.dyn<ir::StoreOp>(); store && op.in("tile")->type().is_tile())
    move_box(op, store->part, *op.in("tile"));
  if (op.is<ir::IotaOp>() && is_along(*op.result(), op.as<ir::IotaOp>().axis)) move_coordinates(op);
}

void AxisDivision::move_box(Op& op, Extents& part, Value const& tile) {
  auto const axis = axis_of(tile);
  if (!axis) return;
  if (!part.empty()) part[*axis] = extent_;
  ir::Builder builder = ir::Builder::before(op);
  builder.set_where(op.where());
  // A tile of lower rank takes one element of each leading axis.
  int const leading = static_cast<int>(op.operand(0)->type().rank()) - tile.type().rank();
  int const at = op.position("offsets") + leading + *axis;
  op.set_operand(at, builder.same(ir::AddOp{}, {op.operand(at), first_}));
}

/// Compares the coordinates within a part with a bound that does not change along the axis: the part's first coordinate
/// is taken from the bound, once for all. A bound outside of the part orders as -1 or the greatest number.
bool AxisDivision::move_bound(ir::Use const& use, std::int64_t axis) const {
  Op& compare = *use.user;
  if (!compare.is<ir::CompareOp>() || compare.operand(use.index)->type().element() != Element::i32) return false;
  Op* const spread = compare.operand(1 - use.index)->defining_op();
  bool const is_broadcast = spread != nullptr && spread->is<ir::BroadcastOp>() &&
                            spread->operand()->type().shape()[static_cast<int>(axis)] == 1;
  if (!is_broadcast && (spread == nullptr || !spread->is<ir::SplatOp>())) return false;
  ir::Builder builder = ir::Builder::before(compare);
  builder.set_where(compare.where());
  Value* const bound = spread->operand();
  Type const wide = bound->type().with_element(Element::i64);
  auto const number = [&](std::int64_t value) { return builder.constant(static_cast<double>(value), wide); };
  Value* const first = is_broadcast ? builder.value(ir::SplatOp{}, {first_}, wide) : first_;
  Value* moved = builder.same(ir::SubOp{}, {builder.value(ir::CastOp{}, {bound}, wide), first});
  moved = builder.same(ir::MaxOp{}, {moved, number(-1)});
  moved = builder.same(ir::MinOp{}, {moved, number(std::numeric_limits<std::int32_t>::max())});
  moved = builder.value(ir::CastOp{}, {moved}, bound->type());
  Type const tile = compare.operand(use.index)->type();  // of the part; the bound's may be divided later
  compare.set_operand(1 - use.index, is_broadcast ? builder.value(ir::BroadcastOp{}, {moved}, tile)
                                                  : builder.value(ir::SplatOp{}, {moved}, tile));
  return true;
}

void AxisDivision::move_coordinates(Op& op) {
  std::vector<ir::Use> const uses = op.result()->uses();
  std::vector<ir::Use> others;
  for (ir::Use const& use : uses)
    if (!move_bound(use, op.as<ir::IotaOp>().axis)) others.push_back(use);
  if (others.empty()) return;
  ir::Builder builder = ir::Builder::after(op);
  builder.set_where(op.where());
  Type const& type = op.result()->type();
  Value* const first = type.element() == first_->type().element()
                           ? first_
                           : builder.value(ir::CastOp{}, {first_}, Type::scalar(type.element()));
  Value* const moved = builder.same(ir::AddOp{}, {op.result(), builder.value(ir::SplatOp{}, {first}, type)});
  for (ir::Use const& use : others) use.user->set_operand(use.index, moved);
}

}  // namespace tegula::transform

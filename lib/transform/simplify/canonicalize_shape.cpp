#include <algorithm>

#include "ir/memory/accesses.hpp"
#include "ir/core/match.hpp"
#include "ir/memory/source.hpp"
#include "transform/common/fold.hpp"
#include "transform/simplify/canonicalize_rules.hpp"

namespace tegula::transform::rules {
namespace {

using ir::Op;
using ir::Type;
using ir::Value;

/// Returns the scalar of a tile whose elements are all equal to it, made if it is a constant; null for other tiles.
Value* uniform_scalar(RewriteSite& site, Value* tile, bool make) {
  if (Op* splat = tile->defined_by<ir::SplatOp>()) return splat->operand();
  auto const constant = constant_of(*tile);
  if (!constant) return nullptr;
  return make ? site.builder.constant(*constant, Type::scalar(constant->element)) : tile;
}

Value* splat_of(RewriteSite& site, Value* scalar, Type const& type) {
  return site.builder.op(ir::SplatOp{}, {scalar}, {type}).result();
}

/// Rewrites an elementwise op on splats as a splat of the op on scalars.
Value* on_splats(RewriteSite& site) {
  if (!site.type().is_tile()) return nullptr;
  for (Value* operand : site.op.operands())
    if (uniform_scalar(site, operand, false) == nullptr) return nullptr;
  std::vector<Value*> scalars;
  for (Value* operand : site.op.operands()) scalars.push_back(uniform_scalar(site, operand, true));
  return splat_of(site, site.same_op(scalars, Type::scalar(site.type().element())), site.type());
}

/// Rewrites an elementwise op on broadcasts of one shape as a broadcast of the op.
Value* on_broadcasts(RewriteSite& site) {
  if (!site.type().is_tile() || site.type().layout() != nullptr) return nullptr;
  Type const* source = nullptr;
  for (Value* operand : site.op.operands()) {
    if (uniform_scalar(site, operand, false) != nullptr) continue;
    Op* const broadcast = operand->defined_by<ir::BroadcastOp>();
    if (broadcast == nullptr) return nullptr;
    Type const& type = broadcast->operand()->type();
    if (source != nullptr && source->shape() != type.shape()) return nullptr;
    source = &type;
  }
  if (source == nullptr || source->layout() != nullptr) return nullptr;
  Extents const shape = source->shape();
  std::vector<Value*> small;
  for (Value* operand : site.op.operands()) {
    Value* const scalar = uniform_scalar(site, operand, false);
    if (scalar == nullptr)
      small.push_back(operand->defining_op()->operand());
    else if (auto const constant = constant_of(*operand))
      small.push_back(site.builder.constant(*constant, Type::tile(constant->element, shape)));
    else
      small.push_back(splat_of(site, scalar, Type::tile(scalar->type().element(), shape)));
  }
  Value* const result = site.same_op(small, Type::tile(site.type().element(), shape));
  return site.builder.op(ir::BroadcastOp{}, {result}, {site.type()}).result();
}

/// Rewrites a shape op of a uniform tile as that uniform tile in the new shape.
Value* of_uniform(RewriteSite& site) {
  if (auto const constant = constant_of(*site.operand())) return site.builder.constant(*constant, site.type());
  Op* const splat = site.operand()->defined_by<ir::SplatOp>();
  return splat != nullptr ? splat_of(site, splat->operand(), site.type()) : nullptr;
}

/// Rewrites coordinates under relabelled axes as those along the result's axis, or 0 where the result does not have it.
Value* of_iota(RewriteSite& site) {
  Op* const iota = site.operand()->defined_by<ir::IotaOp>();
  if (iota == nullptr || !ir::relabels(site.op)) return nullptr;
  int const axis = ir::source(site.op).parts[0].axes[iota->as<ir::IotaOp>().axis].axis;
  if (axis < 0 || site.type().shape()[axis] == 1) return site.number(0);
  return site.builder.op(ir::make_op<ir::IotaOp>(std::int64_t{axis}), {}, {site.type()}).result();
}

Value* broadcast(RewriteSite& site) {
  Value* const x = site.operand();
  if (x->type() == site.type()) return x;
  if (Op* inner = x->defined_by<ir::BroadcastOp>())
    return site.builder.op(ir::BroadcastOp{}, {inner->operand()}, {site.type()}).result();
  return nullptr;
}

Value* expand_dims(RewriteSite& site) {
  auto const& axes = site.op.as<ir::ExpandDimsOp>().axes;
  if (axes.empty()) return site.operand();
  Op* const squeeze = site.operand()->defined_by<ir::SqueezeOp>();
  if (squeeze != nullptr && squeeze->as<ir::SqueezeOp>().axes == axes && squeeze->operand()->type() == site.type())
    return squeeze->operand();
  return nullptr;
}

/// Loads a box at a place of a loaded tile alone, where the load stands. A tile of lower rank takes one element of each
/// leading axis. Null where the whole tile is used too.
Value* load_of_box(Op& load, Extents const& at, Type const& box) {
  auto const& attributes = load.as<ir::LoadOp>();
  Type const& whole = load.result()->type();
  auto const& uses = load.result()->uses();
  bool const in_boxes = std::all_of(uses.begin(), uses.end(), [](ir::Use const& use) {
    return use.user->is<ir::ExtractOp>() || use.user->is<ir::SqueezeOp>();
  });
  // Boxes with short runs of the last axis would narrow the accesses: threads load the whole and take it apart.
  int const last = whole.rank() - 1;
  constexpr int access_bytes = 16;
  bool const narrows = last >= 0 && box.rank() == whole.rank() && uses.size() > 1 &&
                       box.shape()[last] < whole.shape()[last] &&
                       box.shape()[last] * bytes(box.element()) < access_bytes;
  if (narrows) return nullptr;
  if (!in_boxes || !attributes.part.empty() || attributes.vector != 0 || whole.layout() != nullptr ||
      box.layout() != nullptr)
    return nullptr;
  ir::Builder builder = ir::Builder::before(load);
  builder.set_where(load.where());
  std::vector<Value*> operands(load.operands().begin(), load.operands().end());
  for (int axis = 0; axis < at.size(); ++axis) {
    Value*& offset = operands[operands.size() - static_cast<std::size_t>(at.size() - axis)];
    if (at[axis] != 0) offset = builder.same(ir::AddOp{}, {offset, builder.index(at[axis])});
  }
  return builder.op(attributes, operands, {box}).result();
}

Value* squeeze(RewriteSite& site) {
  auto const& axes = site.op.as<ir::SqueezeOp>().axes;
  if (axes.empty()) return site.operand();
  if (Op* const load = site.operand()->defined_by<ir::LoadOp>(); load != nullptr && axes[axes.size() - 1] < axes.size())
    return load_of_box(*load, {}, site.type());
  Op* const expand = site.operand()->defined_by<ir::ExpandDimsOp>();
  if (expand != nullptr && expand->as<ir::ExpandDimsOp>().axes == axes && expand->operand()->type() == site.type())
    return expand->operand();
  return nullptr;
}

Value* trans(RewriteSite& site) {
  Extents const permutation = site.op.as<ir::TransOp>().permutation;
  bool identity = true;
  for (int i = 0; i < permutation.size(); ++i) identity = identity && permutation[i] == i;
  if (identity && site.operand()->type() == site.type()) return site.operand();
  if (Op* inner = site.operand()->defined_by<ir::TransOp>()) {
    ir::TransOp merged;
    for (std::int64_t const axis : permutation)
      merged.permutation.push_back(inner->as<ir::TransOp>().permutation[static_cast<int>(axis)]);
    return site.builder.op(merged, {inner->operand()}, {site.type()}).result();
  }
  return nullptr;
}

/// Returns the axes of extent 1.
Extents units(Extents const& shape) {
  Extents result;
  for (int axis = 0; axis < shape.size(); ++axis)
    if (shape[axis] == 1) result.push_back(axis);
  return result;
}

Extents without_units(Extents const& shape) {
  Extents result;
  for (std::int64_t const extent : shape)
    if (extent != 1) result.push_back(extent);
  return result;
}

/// Rewrites a reshape that only drops and adds axes of extent 1 as squeeze and expand_dims.
Value* of_units(RewriteSite& site) {
  Type const &from = site.operand()->type(), &to = site.type();
  if (from.layout() != nullptr || to.layout() != nullptr) return nullptr;
  Extents const large = without_units(from.shape());
  if (large.empty() || large != without_units(to.shape())) return nullptr;
  Value* tile = site.operand();
  if (Extents const axes = units(from.shape()); !axes.empty())
    tile = site.builder.value(ir::make_op<ir::SqueezeOp>(axes), {tile}, from.with_shape(large));
  if (Extents const axes = units(to.shape()); !axes.empty())
    tile = site.builder.value(ir::make_op<ir::ExpandDimsOp>(axes), {tile}, to);
  return tile;
}

Value* reshape(RewriteSite& site) {
  Value* const x = site.operand();
  if (x->type() == site.type()) return x;
  if (Value* const tile = of_units(site)) return tile;
  Op* const inner = x->defined_by<ir::ReshapeOp>();
  if (inner != nullptr && site.type().layout() == nullptr)
    return site.builder.op(ir::ReshapeOp{}, {inner->operand()}, {site.type()}).result();
  return nullptr;
}

Value* extract(RewriteSite& site) {
  Value* const x = site.operand();
  if (x->type() == site.type()) return x;
  if (site.type().layout() != nullptr || site.op.as<ir::ExtractOp>().uniform) return nullptr;
  Extents const offsets = site.op.as<ir::ExtractOp>().offsets;
  if (Op* load = x->defined_by<ir::LoadOp>()) return load_of_box(*load, offsets, site.type());
  if (Op* inner = x->defined_by<ir::ExtractOp>(); inner != nullptr && !inner->as<ir::ExtractOp>().uniform) {
    ir::ExtractOp both;
    for (int axis = 0; axis < offsets.size(); ++axis)
      both.offsets.push_back(offsets[axis] + inner->as<ir::ExtractOp>().offsets[axis]);
    return site.builder.op(both, {inner->operand()}, {site.type()}).result();
  }
  Op* const whole = x->defined_by<ir::ConcatenateOp>();
  if (whole == nullptr) return nullptr;
  // The box lies in one of the two tiles.
  auto const axis = static_cast<int>(whole->as<ir::ConcatenateOp>().axis);
  std::int64_t const left = whole->lhs()->type().shape()[axis], first = offsets[axis];
  bool const in_left = first + site.type().shape()[axis] <= left;
  if (!in_left && first < left) return nullptr;
  auto part = ir::make_op<ir::ExtractOp>(offsets);
  if (!in_left) part.offsets[axis] -= left;
  return site.builder.op(part, {in_left ? whole->lhs() : whole->rhs()}, {site.type()}).result();
}

Value* reduce(RewriteSite& site) {
  auto const& reduction = site.op.as<ir::ReduceOp>();
  Value* const x = site.operand();
  if (x->type() == site.type()) return x;
  bool const picks = reduction.combine == ir::Combine::max || reduction.combine == ir::Combine::min;
  return picks ? of_uniform(site) : nullptr;
}

/// A view has its tensor's extents, but for a slice along its axis.
Value* extent(RewriteSite& site) {
  Op const* const view = ir::view_op(*site.operand());
  auto const axis = static_cast<int>(site.op.as<ir::ExtentOp>().axis);
  if (view == nullptr || (view->is<ir::SliceOp>() && view->as<ir::SliceOp>().axis == axis)) return nullptr;
  auto const of_tensor = ir::make_op<ir::ExtentOp>(std::int64_t{ir::viewed_axis(*view, axis)});
  return site.builder.value(of_tensor, {view->in("tensor")}, site.type());
}

/// Returns the only element of a tile that is uniform, or that moves another tile's only element.
Value* item(RewriteSite& site) {
  Value* const tile = site.operand();
  if (auto const constant = constant_of(*tile)) return site.builder.constant(*constant, site.type());
  if (Op* const splat = tile->defined_by<ir::SplatOp>()) return splat->operand();
  Op* const from = tile->defining_op();
  bool const moves = from != nullptr && from->info().source != nullptr && from->operand_count() == 1;
  if (!moves || from->operand()->type().elements() != 1) return nullptr;
  return site.same_op({from->operand()}, site.type());
}

/// Returns the element at a known place of a uniform tile, or of a tile of one element.
Value* item_at(RewriteSite& site) {
  Value* const tile = site.op.in<ir::ItemAtOp>("tile");
  Extents const& shape = tile->type().shape();
  for (int axis = 0; axis < shape.size(); ++axis) {
    auto const place = ir::constant_int(*site.op.in<ir::ItemAtOp>("places", axis));
    if (!place || *place < 0 || *place >= shape[axis]) return nullptr;
  }
  if (auto const constant = constant_of(*tile)) return site.builder.constant(*constant, site.type());
  if (Op* const splat = tile->defined_by<ir::SplatOp>()) return splat->operand();
  return shape.product() == 1 ? site.builder.value(ir::ItemOp{}, {tile}, site.type()) : nullptr;
}

Value* splat(RewriteSite& site) {
  auto const constant = constant_of(*site.operand());
  return constant ? site.builder.constant(*constant, site.type()) : nullptr;
}

Value* iota(RewriteSite& site) {
  auto const axis = static_cast<int>(site.op.as<ir::IotaOp>().axis);
  return site.type().shape()[axis] == 1 ? site.number(0) : nullptr;
}

}  // namespace

Value* shape(RewriteSite& site) {
  if (site.op.is(ir::Family::elementwise)) {
    Value* const value = on_splats(site);
    return value != nullptr ? value : on_broadcasts(site);
  }
  using ir::on;
  auto const unless_uniform = [&](Value* (*rule)(RewriteSite&)) {
    if (Value* const value = of_uniform(site)) return value;
    Value* const value = rule(site);
    return value != nullptr ? value : of_iota(site);
  };
  return ir::match<Value*>(
      site.op, on<ir::ExtentOp>([&] { return extent(site); }), on<ir::SplatOp>([&] { return splat(site); }),
      on<ir::IotaOp>([&] { return iota(site); }), on<ir::BroadcastOp>([&] { return unless_uniform(broadcast); }),
      on<ir::ExpandDimsOp>([&] { return unless_uniform(expand_dims); }),
      on<ir::SqueezeOp>([&] { return unless_uniform(squeeze); }),
      on<ir::TransOp>([&] { return unless_uniform(trans); }),
      on<ir::ReshapeOp>([&] { return unless_uniform(reshape); }),
      on<ir::ExtractOp>([&] { return unless_uniform(extract); }), on<ir::ReduceOp>([&] { return reduce(site); }),
      on<ir::ItemOp>([&] { return item(site); }), on<ir::ItemAtOp>([&] { return item_at(site); }));
}

}  // namespace tegula::transform::rules

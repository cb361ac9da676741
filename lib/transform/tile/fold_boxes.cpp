#include "transform/tile/fold_boxes.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "ir/core/families.hpp"
#include "ir/core/value_memo.hpp"
#include "ir/core/walk.hpp"
#include "ir/memory/accesses.hpp"
#include "ir/values/constant_of.hpp"

namespace tegula::transform {
namespace {

using ir::Op;
using ir::Type;
using ir::Value;

bool holds(Extents const& list, std::int64_t number) {
  return std::find(list.begin(), list.end(), number) != list.end();
}

/// Returns the shape without some axes.
Extents without(Extents const& shape, Extents const& axes) {
  Extents result;
  for (int axis = 0; axis < shape.size(); ++axis)
    if (!holds(axes, axis)) result.push_back(shape[axis]);
  return result;
}

Type without(Type const& type, Extents const& axes) { return type.with_shape(without(type.shape(), axes)); }

bool keeps_order(Extents const& permutation) { return std::is_sorted(permutation.begin(), permutation.end()); }

/// Returns the offsets of an access in another order of the tensor's axes.
std::vector<Value*> in_order(std::span<Value* const> offsets, Extents const& permutation) {
  std::vector<Value*> result;
  for (std::int64_t const axis : permutation) result.push_back(offsets[static_cast<std::size_t>(axis)]);
  return result;
}

class Boxes {
 public:
  explicit Boxes(ir::Function& function) : function_(function) {}

  bool run() {
    bool changed = false;
    for (bool again = true; again; changed = changed || again) {
      again = false;
      std::vector<Op*> ops;
      ir::walk_pre_order(function_, [&](Op& op) {
        if (op.is<ir::SqueezeOp>() || op.is<ir::TransOp>() || op.is<ir::StoreOp>()) ops.push_back(&op);
        return ir::Walk::advance;
      });
      for (Op* op : ops) again = (op->is<ir::StoreOp>() ? store(*op) : moves(*op)) || again;
    }
    return changed;
  }

 private:
  /// Moves a shape op into the load in front of it.
  bool moves(Op& op) {
    Value& from = *op.operand();
    if (op.result()->unused() || from.type().layout() != nullptr || op.result()->type().layout() != nullptr)
      return false;
    Value* to = nullptr;
    if (op.is<ir::TransOp>())
      to = transposed(from, op.as<ir::TransOp>().permutation);
    else if (begins_with_access(from, op.as<ir::SqueezeOp>().axes))
      to = squeezed(from, op.as<ir::SqueezeOp>().axes);
    if (to == nullptr) return false;
    op.result()->replace_all_uses_with(*to);
    return true;
  }

  /// True for a load whose box has these axes of extent 1, none of which is the tensor's last.
  static bool takes(Op const& load, Extents const& axes) {
    auto const& attributes = load.as<ir::LoadOp>();
    int const rank = load.result()->type().rank();
    return attributes.part.empty() && attributes.vector == 0 && attributes.by_pointer.empty() &&
           attributes.nonnegative.empty() && axes.size() < rank && !holds(axes, rank - 1);
  }

  /// True for an op through which tiles are followed to the accesses in front of it.
  static bool leads_on(Op const& op) { return op.is(ir::Family::elementwise) || op.is<ir::BroadcastOp>(); }
  static bool makes(Value const& tile) {
    return tile.defining_op() != nullptr && ir::makes_elements(*tile.defining_op());
  }

  /// Tells whether only ops that can do without the axes lie between a tile and a load, or a tile that gained the axes.
  static bool begins_with_access(Value const& tile, Extents const& axes) {
    ir::ValueMemo<bool> memo;
    auto const needs = [](Value const& at, auto const& visit) {
      if (at.defining_op() != nullptr && leads_on(*at.defining_op())) ir::operands_of(at, visit);
    };
    return memo.of(tile, needs, [&](Value const& at) {
      Op const* const op = at.defining_op();
      if (op == nullptr || !at.type().is_tile() || at.type().layout() != nullptr) return false;
      if (op->is<ir::LoadOp>()) return takes(*op, axes);
      if (op->is<ir::ExpandDimsOp>()) return op->as<ir::ExpandDimsOp>().axes == axes;
      if (!leads_on(*op)) return false;
      bool found = false;
      for (Value const* operand : op->operands()) {
        if (!operand->type().is_tile() || makes(*operand)) continue;
        if (!memo.at(*operand)) return false;
        found = true;
      }
      return found;
    });
  }

  /// Returns a tile without axes of extent 1. Needs: begins_with_access, or elements that an op makes.
  Value* squeezed(Value& tile, Extents const& axes) {
    Key const key{&tile, {axes.begin(), axes.end()}};
    if (auto const known = squeezed_.find(key); known != squeezed_.end()) return known->second;
    Op& op = *tile.defining_op();
    if (op.is<ir::ExpandDimsOp>() && op.as<ir::ExpandDimsOp>().axes == axes) return op.operand();
    Value* const result = op.is<ir::LoadOp>() ? without_axes(op, axes) : recomputed(op, axes);
    if (result->name().empty()) result->set_name(tile.name());
    return squeezed_[key] = result;
  }

  Value* recomputed(Op& op, Extents const& axes) {
    Type const& whole = op.result()->type();
    Type const type = without(whole, axes);
    std::vector<Value*> operands;
    for (Value* operand : op.operands())
      operands.push_back(operand->type().is_tile() ? squeezed(*operand, axes) : operand);
    ir::Builder builder = ir::Builder::before(op);
    builder.set_where(op.where());
    if (auto const constant = ir::constant_of(*op.result())) return builder.constant(*constant, type);
    if (op.is<ir::IotaOp>()) {
      std::int64_t const axis = op.as<ir::IotaOp>().axis;
      if (holds(axes, axis)) return builder.constant(ir::make_constant(type.element(), std::int64_t{0}), type);
      auto const before = std::count_if(axes.begin(), axes.end(), [&](std::int64_t at) { return at < axis; });
      return builder.value(ir::make_op<ir::IotaOp>(axis - before), {}, type);
    }
    Value* const result = builder.create(op.kind(), op.attributes(), operands, {&type, 1}).result();
    if (op.is(ir::Family::elementwise)) give(*op.result(), *result, axes);
    return result;
  }

  /// Lets the other users of a tile take the squeezed one with its axes again.
  static void give(Value& whole, Value& result, Extents const& axes) {
    ir::Builder builder = ir::Builder::after(*result.defining_op());
    builder.set_where(result.defining_op()->where());
    Value* const again = builder.value(ir::make_op<ir::ExpandDimsOp>(axes), {&result}, whole.type());
    whole.replace_all_uses_with(*again);
  }

  Value* without_axes(Op& load, Extents const& axes) {
    Value& tensor = *load.in<ir::LoadOp>("tensor");
    Type const& tile = load.result()->type();
    Extents const permutation = units_first(tensor.type().rank(), tile.rank(), axes);
    Value* const result = load_from(load, permutation, without(tile, axes));
    give(*load.result(), *result, axes);
    return result;
  }

  /// Puts the axes of the tensor of which an access takes one element ahead of the others.
  static Extents units_first(int tensor_rank, int tile_rank, Extents const& axes) {
    int const lead = tensor_rank - tile_rank;
    Extents result;
    for (int axis = 0; axis < tensor_rank; ++axis)
      if (axis < lead || holds(axes, axis - lead)) result.push_back(axis);
    for (int axis = lead; axis < tensor_rank; ++axis)
      if (!holds(axes, axis - lead)) result.push_back(axis);
    return result;
  }

  Value* load_from(Op& load, Extents const& permutation, Type const& type) {
    Value* const tensor = permuted(*load.in<ir::LoadOp>("tensor"), permutation);
    std::vector<Value*> operands = in_order(load.all<ir::LoadOp>("offsets"), permutation);
    operands.insert(operands.begin(), tensor);
    ir::Builder builder = ir::Builder::before(load);
    builder.set_where(load.where());
    Value* const result = builder.op(load.as<ir::LoadOp>(), operands, {type}).result();
    result->set_name(load.result()->name());
    return result;
  }

  /// Returns the tensor with its axes in another order. Permutations stand at the function's start, ahead of slices.
  Value* permuted(Value& tensor, Extents const& permutation) {
    if (keeps_order(permutation)) return &tensor;
    Value*& known = permuted_[{&tensor, {permutation.begin(), permutation.end()}}];
    if (known != nullptr) return known;
    Op* const view = ir::view_op(tensor);
    if (view != nullptr && view->is<ir::SliceOp>()) {
      Value* const whole = permuted(*view->in<ir::SliceOp>("tensor"), permutation);
      ir::SliceOp slice = view->as<ir::SliceOp>();
      slice.axis = std::find(permutation.begin(), permutation.end(), slice.axis) - permutation.begin();
      ir::Builder builder = ir::Builder::after(*view);
      builder.set_where(view->where());
      known =
          builder.value(slice, {whole, view->in<ir::SliceOp>("begin"), view->in<ir::SliceOp>("end")}, whole->type());
    } else if (view != nullptr) {
      Extents both;
      for (std::int64_t const axis : permutation)
        both.push_back(view->as<ir::PermuteOp>().permutation[static_cast<int>(axis)]);
      known = permuted(*view->in<ir::PermuteOp>("tensor"), both);
    } else {
      Type const& type = tensor.type();
      ir::Builder builder = ir::Builder::before(function_.body().front());
      known = builder.value(ir::make_op<ir::PermuteOp>(permutation), {&tensor}, type);
    }
    if (known->name().empty()) known->set_name(tensor.name());
    return known;
  }

  /// Returns the transposed tile from a permuted tensor; null: it is no load, or the last axis moves.
  Value* transposed(Value& tile, Extents const& permutation) {
    Op* const load = tile.defined_by<ir::LoadOp>();
    if (load == nullptr || !takes(*load, {}) || permutation.back() + 1 != permutation.size()) return nullptr;
    int const lead = load->in<ir::LoadOp>("tensor")->type().rank() - permutation.size();
    Extents axes, shape;
    for (int axis = 0; axis < lead; ++axis) axes.push_back(axis);
    for (std::int64_t const axis : permutation) {
      axes.push_back(lead + axis);
      shape.push_back(tile.type().shape()[static_cast<int>(axis)]);
    }
    return load_from(*load, axes, tile.type().with_shape(shape));
  }

  /// Lets a store take a tile without the axes of extent 1 that it gained, or before its axes changed places.
  bool store(Op& op) {
    Value& tile = *op.in<ir::StoreOp>("tile");
    Value& tensor = *op.in<ir::StoreOp>("tensor");
    auto const& attributes = op.as<ir::StoreOp>();
    if (tile.type().layout() != nullptr || !tile.type().is_tile() || attributes.vector != 0 ||
        !attributes.part.empty() || !attributes.nonnegative.empty())
      return false;
    int const rank = tile.type().rank(), lead = tensor.type().rank() - rank;
    Value* from = nullptr;
    Extents order;  // of the tensor's axes
    if (Extents const axes = gained(tile); !axes.empty() && !holds(axes, rank - 1) && begins_with_access(tile, axes)) {
      order = units_first(tensor.type().rank(), rank, axes);
      from = squeezed(tile, axes);
    } else if (Op* const trans = tile.defined_by<ir::TransOp>()) {
      Extents const& permutation = trans->as<ir::TransOp>().permutation;
      if (permutation.back() + 1 != rank || keeps_order(permutation)) return false;
      from = trans->operand();
      for (int axis = 0; axis < lead; ++axis) order.push_back(axis);
      for (int axis = 0; axis < rank; ++axis)
        order.push_back(lead + (std::find(permutation.begin(), permutation.end(), axis) - permutation.begin()));
    } else {
      return false;
    }
    std::vector<Value*> operands = in_order(op.all<ir::StoreOp>("offsets"), order);
    operands.insert(operands.begin(), {permuted(tensor, order), from});
    ir::Builder builder = ir::Builder::before(op);
    builder.set_where(op.where());
    builder.op(attributes, operands, {});
    op.erase();
    return true;
  }

  /// Returns the axes of the nearest expand_dims before the tile.
  static Extents gained(Value const& tile) {
    for (Value const* at = &tile; at != nullptr;) {
      Op const* const op = at->defining_op();
      if (op == nullptr) return {};
      if (op->is<ir::ExpandDimsOp>()) return op->as<ir::ExpandDimsOp>().axes;
      if (!op->is(ir::Family::elementwise)) return {};
      auto const operands = op->operands();
      auto const next = std::find_if(operands.begin(), operands.end(), [](Value const* operand) {
        return operand->type().is_tile() && !makes(*operand);
      });
      at = next == operands.end() ? nullptr : *next;
    }
    return {};
  }

  using Key = std::pair<Value const*, std::vector<std::int64_t>>;
  ir::Function& function_;
  std::map<Key, Value*> squeezed_;  ///< tiles without axes
  std::map<Key, Value*> permuted_;  ///< tensors by permutation
};

}  // namespace

PassResult fold_boxes(ir::Function& function, PassContext&) { return result_of(Boxes(function).run()); }

}  // namespace tegula::transform

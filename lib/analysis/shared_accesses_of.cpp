// Lists the accesses of each op, from the effects in its record.
#include <utility>

#include "analysis/effects.hpp"
#include "analysis/shared_accesses.hpp"
#include "ir/memory/accesses.hpp"
#include "ir/memory/exchange.hpp"
#include "ir/memory/shared_frame.hpp"

namespace tegula::analysis {

using namespace ir;

using Holders = Access::Holders;

void SharedAccesses::move(Slice::Axis& axis, Affine const& by) {
  axis.offset = axis.offset + by;
  std::erase_if(axis.offset.terms, [&](auto const& term) {
    bool const warp = term.first->template defined_by<WarpIndexOp>() != nullptr;
    if (warp) axis.per_warp += term.second;
    return warp;
  });
}

Slice SharedAccesses::slice_of(Value const& value) {
  Op const* const op = value.defining_op();
  if (op != nullptr && op->is<BufferAllocOp>()) {
    Slice slice;
    slice.root = &value;
    Extents const& shape = value.type().shape();
    for (int axis = 0; axis < shape.size(); ++axis) {
      Slice::Axis place;
      place.extent = shape[axis];
      slice.axes.push_back(place);
      slice.axis_of.push_back(axis);
    }
    return slice;
  }
  if (op != nullptr && op->is<TransViewOp>()) {
    Slice slice = slice_of(*op->operand());
    if (slice.axis_of.size() >= 2) std::swap(slice.axis_of.end()[-1], slice.axis_of.end()[-2]);
    return slice;
  }
  if (op != nullptr && op->is<ViewOp>()) {
    Slice slice = slice_of(*op->in<ViewOp>("source"));
    if (slice.whole) return slice;
    Extents const& shape = value.type().shape();
    std::size_t const drop = slice.axis_of.size() - static_cast<std::size_t>(shape.size());
    for (std::size_t i = 0; i < slice.axis_of.size(); ++i) {
      Slice::Axis& place = slice.axes[static_cast<std::size_t>(slice.axis_of[i])];
      move(place, affines_.of(*op->in<ViewOp>("offsets", static_cast<int>(i))));
      place.extent = i < drop ? 1 : shape[static_cast<int>(i - drop)];
    }
    slice.axis_of.erase(slice.axis_of.begin(), slice.axis_of.begin() + static_cast<std::ptrdiff_t>(drop));
    return slice;
  }
  // Carried by a loop or chosen by a branch: some part of a buffer, if there is but one.
  Slice slice;
  slice.whole = true;
  if (auto const buffers = buffers_of(value); buffers.size() == 1) slice.root = buffers.front()->result();
  return slice;
}

namespace {

/// Returns the extents of the part of a tile that the op touches.
Extents touched_of(Op const& op, Extents const& shape) {
  Extents const part = op.is<LoadOp>() ? op.as<LoadOp>().part : op.is<StoreOp>() ? op.as<StoreOp>().part : Extents{};
  return part.empty() ? shape : part;
}

}  // namespace

Slice SharedAccesses::slice_of_tensor(Op const& op, Value const& tensor, Extents const& shape) {
  Slice slice;
  slice.root = &tensor;
  auto const offsets = op.all("offsets");
  Extents const touched = touched_of(op, shape);
  std::size_t const lead = offsets.size() - static_cast<std::size_t>(shape.size());
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    Slice::Axis place;
    if (i >= lead) {
      place.extent = touched[static_cast<int>(i - lead)];
      place.padding = shape[static_cast<int>(i - lead)] - place.extent;
    }
    move(place, affines_.of(*offsets[i]));
    slice.axes.push_back(place);
    if (i >= lead) slice.axis_of.push_back(static_cast<int>(i));
  }
  return slice;
}

Slice SharedAccesses::slice_at(Op const& call, Slice const& inside) {
  Slice some;
  some.root = inside.root;
  some.whole = true;
  if (inside.root == nullptr || !inside.root->type().is_tensor()) return some;
  Value const& tensor = *call.operand(inside.root->index());
  some.root = &parameter_behind(tensor);
  if (inside.whole || some.root != &tensor) return some;
  Slice slice = inside;
  slice.root = &tensor;
  for (Slice::Axis& axis : slice.axes) {
    Affine const moved = std::exchange(axis.offset, Affine{axis.offset.constant, {}});
    for (auto const& [value, factor] : moved.terms) {
      if (value->defining_op() != nullptr || value->owner_block()->parent_op() != nullptr) return some;
      move(axis, affines_.of(*call.operand(value->index())) * factor);
    }
    if (!Affines::small(axis.offset)) return some;
  }
  return slice;
}

void SharedAccesses::place_bytes(Access& access) {
  if (access.space != Space::shared) return;
  if (access.slice.root == nullptr) {
    access.begin = 0;
    access.end = std::numeric_limits<std::int64_t>::max();
    return;
  }
  auto const found = offsets_.find(access.slice.root->defining_op());
  if (found == offsets_.end() || found->second < 0) return;
  access.begin = found->second;
  access.end = access.begin + buffer_bytes(access.slice.root->type());
}

namespace {

/// Tells whether some CTA writes the tensor: an `in` of a kernel is constant.
bool written_by_someone(Value const& tensor, Function const& function) {
  return ir::parameter_of(tensor).direction != Direction::in || !function.is_kernel();
}

/// Tells whether an effect is an access that needs an order with others.
bool is_access(Op const& op, Effect const& effect) {
  if (effect.space == Space::console || effect.space == Space::log || effect.completion == Completion::later)
    return false;
  if (effect.atomic && effect.access == ir::Access::read) return false;  // the write stands for both
  if (effect.space != Space::shared) return true;
  // A peer writes at any time, so Liveness keeps the buffer's bytes for it alone. Readers wait for the phase of the
  // mbarrier that counts them.
  if (at_peer(op)) return false;
  Type const& type = op.operand(effect.operand)->type();
  return type.is_buffer() || type.is_mbarrier();  // else an operand of wgmma in registers
}

bool is_tile(Value const* registers) { return registers != nullptr && registers->type().is_tile(); }

/// Says which threads touch which elements, where the elect region around the op does not say it.
void set_holders(Access& access, Sharing sharing, Value const* registers) {
  switch (sharing) {
    case Sharing::registers:
      if (!is_tile(registers)) break;
      access.holders = access.write ? Holders::owners : Holders::layout;
      access.layout = registers->type().layout();
      break;
    case Sharing::rows:
      access.holders = Holders::rows;
      access.layout = access.op->result()->type().layout();
      break;
    case Sharing::chunks:
      if (access.elected != Access::not_elected) break;
      access.holders = Holders::chunks;
      access.vector = access.op->as<CpAsyncOp>().vector;
      break;
    case Sharing::anywhere:
      break;
  }
}

}  // namespace

/// Returns the box of an access to global memory, as one of the parameter behind its views. `registers`: the tile or
/// scalar that it moves, if any.
Slice SharedAccesses::slice_in_global(Op const& op, Value const& named, Value const* registers) {
  if (!op.info().names("offsets")) {  // elements at indices
    Slice slice;
    slice.root = &parameter_behind(named);
    slice.whole = true;
    return slice;
  }
  Extents const box = registers != nullptr     ? registers->type().shape()
                      : op.info().names("map") ? copied_box(op)
                                               : view_of(op)->type().shape();
  Slice slice = slice_of_tensor(op, named, box);
  for (Value const* tensor = &named; ir::Op const* const view = ir::view_op(*tensor); tensor = slice.root) {
    see_through(*view, slice);
    slice.root = view->in("tensor");
  }
  slice.whole = !std::all_of(slice.axes.begin(), slice.axes.end(),
                             [](Slice::Axis const& axis) { return Affines::small(axis.offset); });
  return slice;
}

/// Turns a box of a view into the box of the tensor behind it. Elements outside of the view are not touched.
void SharedAccesses::see_through(Op const& view, Slice& slice) {
  if (view.is<ir::SliceOp>()) {
    auto const axis = static_cast<std::size_t>(view.as<ir::SliceOp>().axis);
    move(slice.axes[axis], affines_.of(*view.in<ir::SliceOp>("begin")));
    return;
  }
  std::vector<Slice::Axis> const axes = slice.axes;
  for (std::size_t i = 0; i < axes.size(); ++i)
    slice.axes[static_cast<std::size_t>(ir::viewed_axis(view, static_cast<int>(i)))] = axes[i];
  for (int& axis : slice.axis_of) axis = ir::viewed_axis(view, axis);
}

void SharedAccesses::add(Op const& op, Effect const& effect, std::vector<Access>& into) {
  if (!is_access(op, effect)) return;
  Value const& operand = *op.operand(effect.operand);
  bool const in_global = operand.type().is_global();  // a buffer there, for which the ops' records say shared
  Value const* const registers = registers_of(op, effect);

  Access access;
  access.op = &op;
  access.space = in_global ? Space::global : effect.space;
  access.write = effect.access == ir::Access::write;
  access.atomic = effect.atomic;
  access.proxy = effect.proxy;
  access.completion = effect.completion;
  access.elected = elected_around(op);
  access.holders = access.elected == Access::not_elected ? Holders::every : Holders::lane;
  if (effect.space == Space::shared) {
    access.slice = slice_of(operand);
    place_bytes(access);
  } else {
    Value const& named = tensor_of(operand);
    if (!access.write && !written_by_someone(parameter_behind(named), function_)) return;
    // Before layouts nobody holds an element.
    if (is_tile(registers) && registers->type().layout() == nullptr) return;
    access.slice = slice_in_global(op, named, registers);
  }
  set_holders(access, effect.sharing, registers);
  into.push_back(std::move(access));
  if (!effect.atomic || memory_order(op) == MemoryOrder::relaxed) return;
  // The threads of an ordered atomic meet all others before it, and after it: as if it wrote every tensor.
  into.push_back(into.back());
  into.back().atomic = false;
  into.back().slice.root = nullptr;
}

std::vector<Access> const& SharedAccesses::of(Op const& op) {
  auto const [slot, fresh] = accesses_.try_emplace(&op);
  if (fresh)
    for (Effect const& effect : op.info().effects) add(op, effect, slot->second);
  return slot->second;
}

Access const* SharedAccesses::scratch(Op const& op, bool write) {
  auto const found = offsets_.find(&op);
  if (found == offsets_.end() || op.is<BufferAllocOp>() || op.is<CallOp>() || found->second < 0) return nullptr;
  auto& slot = scratch_[{&op, write}];
  if (!slot) {
    slot = std::make_unique<Access>();
    slot->op = &op;
    slot->write = write;
    slot->begin = found->second;
    slot->end = found->second + scratch_bytes(op);
  }
  return slot.get();
}

}  // namespace tegula::analysis

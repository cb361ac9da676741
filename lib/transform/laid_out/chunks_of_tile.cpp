#include "transform/laid_out/chunks_of_tile.hpp"

#include <algorithm>
#include <unordered_set>

#include "analysis/effects.hpp"
#include "ir/memory/registers.hpp"
#include "ir/memory/source.hpp"
#include "layout/parts.hpp"

namespace tegula::transform {

using ir::Op;
using ir::Type;
using ir::Value;

namespace {

/// Cuts a tile along an axis into as few chunks as a thread holds in so many registers. Nothing: they would lie in
/// other threads.
std::optional<Cut> cut_along(Type const& tile, int axis, int registers) {
  std::int64_t const extent = tile.shape()[axis];
  std::optional<Cut> best;
  for (std::int64_t parts = 2; parts <= extent; ++parts) {
    if (extent % parts != 0) continue;
    Extents shape = tile.shape();
    shape[axis] = extent / parts;
    layout::Layout const* const held = layout::layout_of_parts(*tile.layout(), tile.shape(), shape, axis);
    if (held == nullptr) continue;
    Type const chunk = Type::tile(tile.element(), shape, held);
    best = {chunk, axis, static_cast<int>(ir::registers_of(chunk))};
    if (best->registers <= registers) break;
  }
  return best;
}

Extents whole_axes(int rank) {
  Extents axes;
  for (int axis = 0; axis < rank; ++axis) axes.push_back(axis);
  return axes;
}

/// Spreads a column over a chunk that has all its rows; null: the tile is not one that was spread. So the spread tile
/// counts no registers.
Value* spread_column(ir::Builder& builder, Value const& whole, Type const& chunk) {
  Op const* const spread = whole.defined_by<ir::BroadcastOp>();
  if (spread == nullptr || spread->operand()->type().shape() != Extents{chunk.shape()[0], 1}) return nullptr;
  Value* const column = spread->operand();
  Extents const shape = {chunk.shape()[0], 1, 1};
  Value* const row =
      builder.value(ir::make_op<ir::ExpandDimsOp>(Extents{1}), {column}, Type::tile(chunk.element(), shape));
  Op& broadcast = builder.op(ir::BroadcastOp{}, {row}, {chunk});
  row->set_type(row->type().with_layout(ir::operand_layout(broadcast, chunk.layout())));
  if (ir::operand_layout(*row->defining_op(), row->type().layout()) == column->type().layout())
    return broadcast.result();
  Op* const expand = row->defining_op();
  broadcast.erase();
  expand->erase();
  return nullptr;
}

}  // namespace

std::optional<Cut> cut_of(Type const& tile, int registers) {
  auto const columns = cut_along(tile, 1, registers), rows = cut_along(tile, 0, registers);
  if (!rows || (columns && columns->registers <= std::max(registers, rows->registers))) return columns;
  return rows;
}

bool TileChunks::take_extracts(Op* parted) {
  parted_ = parted;
  if (parted_ != nullptr && parted_->parent() != &block()) return false;
  Value const& whole = parted_ != nullptr ? *parted_->result() : tile_;
  std::unordered_set<Op const*> found;
  for (ir::Use const& use : whole.uses()) {
    bool const chunk = use.user->is<ir::ExtractOp>() && use.user->parent() == &block() &&
                       !use.user->as<ir::ExtractOp>().uniform &&
                       use.user->result()->type().rank() == whole.type().rank();
    if (chunk) found.insert(use.user);
  }
  for (Op& op : block())
    if (found.contains(&op)) {
      extracts_.push_back(&op);
      places_.push_back(op.as<ir::ExtractOp>().offsets);
      chunks_.push_back(op.result()->type());
    }
  points_ = extracts_;
  return extracts_.size() > 1;
}

bool TileChunks::take_cut(int registers) {
  cut_ = cut_of(tile_.type(), registers);
  if (!cut_) return false;
  std::int64_t const extent = cut_->chunk.shape()[cut_->axis];
  for (std::int64_t at = 0; at < tile_.type().shape()[cut_->axis]; at += extent) {
    Extents place = {0, 0};
    place[cut_->axis] = at;
    places_.push_back(place);
    chunks_.push_back(cut_->chunk);
  }
  return true;
}

void TileChunks::compute_before(Op& op) {
  points_.assign(places_.size(), &op);
  at_ = &op;
}

bool TileChunks::alike(Value const& value) const {
  return value.type().is_tile() && value.type().shape() == tile_.type().shape() &&
         value.type().layout() == tile_.type().layout();
}

bool TileChunks::is_stored_whole(Op const& op) const {
  return op.is<ir::StoreOp>() && op.as<ir::StoreOp>().part.empty() && alike(*op.in<ir::StoreOp>("tile"));
}

int TileChunks::only_axis() const {
  Extents const& whole = parted_ != nullptr ? parted_->result()->type().shape() : tile_.type().shape();
  int found = -1;
  for (int axis = 0; axis < whole.size(); ++axis) {
    bool cut = false;
    for (Type const& chunk : chunks_) {
      if (chunk != chunks_.front()) return -1;
      cut = cut || chunk.shape()[axis] != whole[axis];
    }
    if (!cut) continue;
    if (found >= 0) return -1;
    found = axis;
  }
  return parted_ != nullptr && found == 2 ? 1 : found;
}

bool TileChunks::can_be_cut(Op const& load) const {
  return load.is<ir::LoadOp>() && load.as<ir::LoadOp>().part.empty() &&
         (at_ == nullptr ? analysis::reads_constant_memory(load) : analysis::may_wait_for(load, *at_)) &&
         load.all<ir::LoadOp>("offsets").size() >= static_cast<std::size_t>(load.result()->type().rank());
}

Value* TileChunks::load(ir::Builder& builder, Op const& load, std::size_t i) const {
  Type const chunk = type(load.result()->type().element(), i);
  if (parted_ != nullptr) return load_parted(builder, load, i, {chunk.shape()[0], chunk.shape()[2]});
  return load_part(builder, load, i, whole_axes(chunk.rank()), chunk);
}

Value* TileChunks::load_part(ir::Builder& builder, Op const& load, std::size_t i, Extents const& axes,
                             Type const& type) const {
  builder.set_where(load.where());
  std::vector<Value*> operands = {load.in<ir::LoadOp>("tensor")};
  auto const offsets = load.all<ir::LoadOp>("offsets");
  std::size_t const leading = offsets.size() - static_cast<std::size_t>(axes.size());
  for (std::size_t at = 0; at < offsets.size(); ++at) {
    int const axis = static_cast<int>(at - leading);
    bool const fixed = at < leading || load.result()->type().shape()[axis] == 1;
    int const of_chunk = fixed ? 0 : static_cast<int>(axes[axis]);
    bool const apart = parted_ != nullptr && of_chunk == 1;  // the axis of groups stands ahead of a chunk's columns
    std::int64_t const moved = fixed ? 0 : place(i)[apart ? 2 : of_chunk];
    Value* offset = offsets[at];
    if (moved != 0) offset = builder.same(ir::AddOp{}, {offset, builder.index(moved)});
    if (!fixed && apart) offset = builder.same(ir::AddOp{}, {offset, of_group_});
    operands.push_back(offset);
  }
  return builder.op(load.as<ir::LoadOp>(), operands, {type}).result();
}

Value* TileChunks::load_parted(ir::Builder& builder, Op const& load, std::size_t i, Extents const& shape) const {
  Type const all = type(load.result()->type().element(), i);
  Extents axes = shape.size() == 1 ? Extents{1} : whole_axes(2), added = shape.size() == 1 ? Extents{0, 1} : Extents{1};
  Value* const part = load_part(builder, load, i, axes, Type::tile(all.element(), shape));
  Extents const row_shape = {shape.size() == 1 ? 1 : shape[0], 1, shape.back()};
  Value* const row = builder.value(ir::make_op<ir::ExpandDimsOp>(added), {part}, Type::tile(all.element(), row_shape));
  Op& broadcast = builder.op(ir::BroadcastOp{}, {row}, {all});
  row->set_type(row->type().with_layout(ir::operand_layout(broadcast, all.layout())));
  part->set_type(part->type().with_layout(ir::operand_layout(*row->defining_op(), row->type().layout())));
  return broadcast.result();
}

Value* TileChunks::part_of(ir::Builder& builder, Value& whole, std::size_t i) {
  Type const of_whole = type(whole.type().element(), i);
  if (Op const* const constant = whole.defined_by<ir::ConstantOp>())
    return builder.constant(constant->as<ir::ConstantOp>().value, of_whole);
  if (Value* const column = parted_ != nullptr ? spread_column(builder, whole, of_whole) : nullptr) return column;
  Value* const from = parted_ != nullptr ? with_groups(whole) : &whole;
  ir::ExtractOp part;
  part.offsets = place(i);
  return builder.value(part, {from}, of_whole);
}

/// Returns a tile with the axis of the groups, made once ahead of all chunks.
Value* TileChunks::with_groups(Value& whole) {
  for (auto const& [of, known] : with_groups_)
    if (of == &whole) return known;
  Type const& parts = parted_->result()->type();
  ir::Builder builder = ir::Builder::before(*parted_);
  builder.set_where(parted_->where());
  Value* const made =
      builder.value(ir::ReshapeOp{}, {&whole}, Type::tile(whole.type().element(), parts.shape(), parts.layout()));
  with_groups_.emplace_back(&whole, made);
  return made;
}

void TileChunks::find_group() {
  if (parted_ == nullptr) return;
  Extents const& parts = parted_->result()->type().shape();
  ir::Builder builder = ir::Builder::before(*points_.front());
  Value* const warp = builder.op(ir::WarpIndexOp{}, {}, {Type::index()}).result();
  std::int64_t const warps = parted_->function()->warps / parts[1];
  Value* const group = builder.same(ir::DivOp{}, {warp, builder.index(warps)});
  of_group_ = builder.same(ir::MulOp{}, {group, builder.index(parts[2])});
}

}  // namespace tegula::transform

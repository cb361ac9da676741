#include "transform/laid_out/compute_by_chunks.hpp"

#include <algorithm>
#include <map>
#include <unordered_set>
#include <vector>

#include "analysis/effects.hpp"
#include "ir/core/builder.hpp"
#include "ir/core/rewrite.hpp"
#include "ir/core/walk.hpp"
#include "ir/memory/registers.hpp"
#include "ir/memory/source.hpp"
#include "transform/common/role_registers.hpp"

namespace tegula::transform {
namespace {

using ir::Op;
using ir::Type;
using ir::Value;

/// Tells whether all loads of chunks give the elements that one load of the whole tile would.
bool can_be_cut(Op const& load) {
  return load.is<ir::LoadOp>() && load.as<ir::LoadOp>().part.empty() && analysis::reads_constant_memory(load) &&
         load.all<ir::LoadOp>("offsets").size() >= static_cast<std::size_t>(load.result()->type().rank());
}

/// Computes one tile by its chunks.
class Chunks {
 public:
  /// `parted`: the tile with an axis for the warpgroups that hold parts of its columns, whose chunks are used; null:
  /// those of the tile itself. `worth_chunks`: registers of a thread from which on a loaded tile is worth more code.
  /// `room`: those for a tile and the vectors spread over it; 0: not known.
  Chunks(Value& tile, Op* parted, int worth_chunks, int room)
      : tile_(tile), parted_(parted), worth_chunks_(worth_chunks), room_(room) {}

  bool run() {
    if (!find_extracts() || !find_ops()) return false;
    if (parted_ != nullptr) find_group();
    for (std::size_t i = 0; i < extracts_.size(); ++i) {
      // The loads of the next chunk are under way while this one is computed.
      ir::Builder ahead = ir::Builder::before(*extracts_[i == 0 ? 0 : i - 1]);
      maps_.emplace_back();
      for (Op* op : ops_)
        if (op->is<ir::LoadOp>()) maps_[i][op->result()] = loaded(ahead, *op, i);
      for (Vector const& vector : vectors_) spread_chunk(ahead, vector, i);
    }
    for (std::size_t i = 0; i < extracts_.size(); ++i) {
      ir::Builder builder = ir::Builder::before(*extracts_[i]);
      for (Op* op : ops_)
        if (!op->is<ir::LoadOp>()) compute_chunk(builder, *op, i);
      ir::replace(*extracts_[i], maps_[i].at(&tile_));
    }
    if (parted_ != nullptr) parted_->erase();
    for (auto op = ops_.rbegin(); op != ops_.rend(); ++op) (*op)->erase();
    for (Vector const& vector : vectors_) {
      vector.broadcast->erase();
      if (vector.expand != nullptr) vector.expand->erase();
      vector.load->erase();
    }
    return true;
  }

 private:
  /// Finds the chunks, in the order of the text. False: the tile has other uses, or chunks of several layouts.
  bool find_extracts() {
    ir::Block const* const block = tile_.defining_op()->parent();
    if (parted_ != nullptr && (parted_->parent() != block || tile_.uses().size() != 1)) return false;
    Value const& whole = parted_ != nullptr ? *parted_->result() : tile_;
    std::unordered_set<Op const*> found;
    for (ir::Use const& use : whole.uses()) {
      bool const chunk = use.user->is<ir::ExtractOp>() && use.user->parent() == block &&
                         !use.user->as<ir::ExtractOp>().uniform &&
                         use.user->result()->type().rank() == whole.type().rank();
      if (!chunk) return false;
      found.insert(use.user);
    }
    for (Op& op : *tile_.defining_op()->parent())
      if (found.contains(&op)) extracts_.push_back(&op);
    return extracts_.size() > 1;
  }

  /// Tells whether an op computes or loads the tile's elements one by one, for users alone.
  bool computes_for(std::unordered_set<Op const*> const& users, Op const& op) const {
    if (op.result_count() != 1 || op.block_count() != 0) return false;
    Value const& result = *op.result();
    bool const alike = result.type().is_tile() && result.type().shape() == tile_.type().shape() &&
                       result.type().layout() == tile_.type().layout();
    bool const possible = (op.is(ir::Family::elementwise) && op.pure()) || can_be_cut(op);
    return alike && possible && !result.uses().empty() &&
           std::all_of(result.uses().begin(), result.uses().end(),
                       [&](ir::Use const& use) { return users.contains(use.user); });
  }

  /// Finds the elementwise ops and loads whose results nothing but the chunks needs. False: no load that is worth it.
  bool find_ops() {
    std::unordered_set<Op const*> users(extracts_.begin(), extracts_.end());
    if (parted_ != nullptr) users.insert(parted_);
    bool worth = false;
    bool after = true;
    ir::Block& block = *tile_.defining_op()->parent();
    std::vector<Op*> all;
    for (Op& op : block) all.push_back(&op);
    for (auto at = all.rbegin(); at != all.rend(); ++at) {
      Op& op = **at;
      after = after && &op != tile_.defining_op();
      if (after || !computes_for(users, op)) continue;
      users.insert(&op);
      ops_.push_back(&op);
      worth = worth || (op.is<ir::LoadOp>() && ir::registers_of(op.result()->type()) >= worth_chunks_);
    }
    std::reverse(ops_.begin(), ops_.end());
    find_vectors();
    worth = worth || (room_ != 0 && registers_with_vectors() > room_);
    return worth && !ops_.empty() && ops_.back() == tile_.defining_op();
  }

  /// Counts registers of the largest tile that the ops take or compute, and of the vectors, which are loaded before it.
  [[nodiscard]] int registers_with_vectors() const {
    int largest = 0, vectors = 0;
    for (Op const* op : ops_)
      for (Value const* operand : op->operands())
        if (operand->type().is_tile()) largest = std::max(largest, ir::registers_of(operand->type()));
    for (Vector const& vector : vectors_) vectors += ir::registers_of(vector.load->result()->type());
    return vectors == 0 ? 0 : largest + vectors;
  }

  [[nodiscard]] Extents const& place(std::size_t i) const { return extracts_[i]->as<ir::ExtractOp>().offsets; }
  [[nodiscard]] Type chunk_type(Element element, std::size_t i) const {
    Type const& chunk = extracts_[i]->result()->type();
    return Type::tile(element, chunk.shape(), chunk.layout());
  }

  static Extents whole_axes(int rank) {
    Extents axes;
    for (int axis = 0; axis < rank; ++axis) axes.push_back(axis);
    return axes;
  }

  /// Loads the part of a chunk. `axes`: the tile's axis for each axis that is loaded.
  Value* load_chunk(ir::Builder& builder, Op const& load, std::size_t i, Extents const& axes, Type const& type) const {
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

  Value* loaded(ir::Builder& builder, Op const& load, std::size_t i) {
    Type const chunk = chunk_type(load.result()->type().element(), i);
    if (parted_ != nullptr) return load_parted_chunk(builder, load, i, {chunk.shape()[0], chunk.shape()[2]});
    return load_chunk(builder, load, i, whole_axes(chunk.rank()), chunk);
  }

  /// Holds a vector along one axis that is loaded and spread over the tile, such as a bias.
  struct Vector {
    Op* broadcast;
    Op* expand;  ///< null: the loaded tile has an axis of one element
    Op* load;
  };

  void find_vectors() {
    for (Op* op : ops_)
      for (Value* operand : op->operands()) {
        Op* const broadcast = operand->defining_op();
        if (broadcast == nullptr || !broadcast->is<ir::BroadcastOp>() ||
            broadcast->parent() != tile_.defining_op()->parent())
          continue;
        Op* const below = broadcast->operand()->defining_op();
        Op* const expand = below != nullptr && below->is<ir::ExpandDimsOp>() ? below : nullptr;
        Op* const load = expand != nullptr ? expand->operand()->defining_op() : below;
        bool const alone = operand->uses().size() == 1 && broadcast->operand()->uses().size() == 1 && load != nullptr &&
                           load->is<ir::LoadOp>() && load->result()->uses().size() == 1;
        if (!alone || !can_be_cut(*load) || operand->type().shape() != tile_.type().shape() ||
            operand->type().layout() != tile_.type().layout() ||
            (parted_ != nullptr && broadcast->operand()->type().shape()[0] != 1) ||
            ir::registers_of(load->result()->type()) < worth_chunks_)
          continue;
        vectors_.push_back({broadcast, expand, load});
      }
  }

  void spread_chunk(ir::Builder& builder, Vector const& vector, std::size_t i) {
    if (parted_ != nullptr) {
      Extents const& loaded = vector.load->result()->type().shape();
      std::int64_t const columns = extracts_[i]->result()->type().shape()[2];
      maps_[i][vector.broadcast->result()] =
          load_parted_chunk(builder, *vector.load, i, loaded.size() == 1 ? Extents{columns} : Extents{1, columns});
      return;
    }
    Type const& one = vector.broadcast->operand()->type();
    Type const all = chunk_type(one.element(), i);
    Extents shape = all.shape();
    for (int axis = 0; axis < shape.size(); ++axis)
      if (one.shape()[axis] == 1) shape[axis] = 1;
    Extents axes = whole_axes(shape.size()), loaded = shape;
    if (vector.expand != nullptr) {
      Extents const& added = vector.expand->as<ir::ExpandDimsOp>().axes;
      axes = loaded = {};
      for (int axis = 0; axis < shape.size(); ++axis)
        if (std::find(added.begin(), added.end(), axis) == added.end())
          axes.push_back(axis), loaded.push_back(shape[axis]);
    }
    // Layouts follow from the chunk's, backwards.
    Value* const load = load_chunk(builder, *vector.load, i, axes, Type::tile(one.element(), loaded));
    Value* row = load;
    if (vector.expand != nullptr)
      row = builder.value(vector.expand->as<ir::ExpandDimsOp>(), {load}, Type::tile(one.element(), shape));
    Op& broadcast = builder.op(vector.broadcast->as<ir::BroadcastOp>(), {row}, {all});
    row->set_type(row->type().with_layout(ir::operand_layout(broadcast, all.layout())));
    if (vector.expand != nullptr)
      load->set_type(load->type().with_layout(ir::operand_layout(*row->defining_op(), row->type().layout())));
    maps_[i][vector.broadcast->result()] = broadcast.result();
  }

  /// Loads the part of a chunk whose columns each warpgroup has apart: each warp those of its own group. `shape`: of
  /// the load, without the axis of the groups.
  Value* load_parted_chunk(ir::Builder& builder, Op const& load, std::size_t i, Extents const& shape) {
    Type const all = chunk_type(load.result()->type().element(), i);
    Extents axes = shape.size() == 1 ? Extents{1} : whole_axes(2),
            added = shape.size() == 1 ? Extents{0, 1} : Extents{1};
    Value* const part = load_chunk(builder, load, i, axes, Type::tile(all.element(), shape));
    Extents const row_shape = {shape.size() == 1 ? 1 : shape[0], 1, shape.back()};
    Value* const row =
        builder.value(ir::make_op<ir::ExpandDimsOp>(added), {part}, Type::tile(all.element(), row_shape));
    Op& broadcast = builder.op(ir::BroadcastOp{}, {row}, {all});
    row->set_type(row->type().with_layout(ir::operand_layout(broadcast, all.layout())));
    part->set_type(part->type().with_layout(ir::operand_layout(*row->defining_op(), row->type().layout())));
    return broadcast.result();
  }

  /// Counts the columns in front of those of this warp's group.
  void find_group() {
    Extents const& parts = parted_->result()->type().shape();
    ir::Builder builder = ir::Builder::before(*extracts_.front());
    Value* const warp = builder.op(ir::WarpIndexOp{}, {}, {Type::index()}).result();
    std::int64_t const warps = parted_->function()->warps / parts[1];
    Value* const group = builder.same(ir::DivOp{}, {warp, builder.index(warps)});
    of_group_ = builder.same(ir::MulOp{}, {group, builder.index(parts[2])});
  }

  void compute_chunk(ir::Builder& builder, Op const& op, std::size_t i) {
    ir::ValueMap& map = maps_[i];
    builder.set_where(op.where());
    for (Value* operand : op.operands())
      if (operand->type().is_tile() && !map.contains(operand)) map[operand] = part_of(builder, *operand, i);
    Op& made = builder.clone(op, map);
    made.result()->set_type(chunk_type(op.result()->type().element(), i));
  }

  Value* part_of(ir::Builder& builder, Value& whole, std::size_t i) {
    Type const type = chunk_type(whole.type().element(), i);
    if (Op const* const constant = whole.defined_by<ir::ConstantOp>())
      return builder.constant(constant->as<ir::ConstantOp>().value, type);
    if (Value* const column = parted_ != nullptr ? spread_column(builder, whole, type) : nullptr) return column;
    Value* const from = parted_ != nullptr ? parted(whole) : &whole;
    ir::ExtractOp part;
    part.offsets = place(i);
    return builder.value(part, {from}, type);
  }

  /// Spreads a column over a chunk that has all its rows; null: the tile is not one that was spread. So the spread tile
  /// counts no registers.
  static Value* spread_column(ir::Builder& builder, Value const& whole, Type const& chunk) {
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

  /// Returns a tile with the axis of the groups, made once ahead of all chunks.
  Value* parted(Value& whole) {
    Value*& known = parts_[&whole];
    if (known != nullptr) return known;
    Type const& parts = parted_->result()->type();
    ir::Builder builder = ir::Builder::before(*parted_);
    builder.set_where(parted_->where());
    return known = builder.value(ir::ReshapeOp{}, {&whole},
                                 Type::tile(whole.type().element(), parts.shape(), parts.layout()));
  }

  Value& tile_;
  Op* parted_;
  Value* of_group_ = nullptr;  ///< columns in front of those of this warp's group
  int worth_chunks_, room_;
  std::vector<Op*> extracts_;
  std::vector<Op*> ops_;  ///< in the order of the text
  std::vector<Vector> vectors_;
  std::map<Value*, Value*> parts_;  ///< whole tiles with the axis of the groups
  std::vector<ir::ValueMap> maps_;  ///< from whole tiles to those of each chunk
};

}  // namespace

PassResult compute_by_chunks(ir::Function& function, AnalysisCache&, PassContext& context) {
  auto const room = static_cast<int>(registers_for_sums(function.warps, context.target));
  std::vector<std::pair<Value*, Op*>> tiles;
  ir::walk(function, [&](Op& op) {
    if (!op.is<ir::ExtractOp>()) return;
    Op* parted = op.operand()->defined_by<ir::ReshapeOp>();
    if (parted != nullptr && (parted->operand()->type().rank() != 2 || parted->result()->type().rank() != 3)) return;
    Value* const whole = parted != nullptr ? parted->operand() : op.operand();
    if (whole->defining_op() == nullptr || !whole->defining_op()->is(ir::Family::elementwise)) return;
    if (std::find(tiles.begin(), tiles.end(), std::pair(whole, parted)) == tiles.end())
      tiles.emplace_back(whole, parted);
  });
  bool changed = false;
  for (auto const& [tile, parted] : tiles)
    changed = Chunks(*tile, parted, context.target.tuning.tile_worth_chunks, room).run() || changed;
  return result_of(changed);
}

}  // namespace tegula::transform

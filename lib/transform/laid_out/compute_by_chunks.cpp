#include "transform/laid_out/compute_by_chunks.hpp"

#include <algorithm>
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
  /// `worth_chunks`: registers of a thread from which on a loaded tile is worth more code. `room`: those for a tile and
  /// the vectors spread over it; 0: not known.
  Chunks(Value& tile, int worth_chunks, int room) : tile_(tile), worth_chunks_(worth_chunks), room_(room) {}

  bool run() {
    if (!find_extracts() || !find_ops()) return false;
    for (std::size_t i = 0; i < extracts_.size(); ++i) {
      // The loads of the next chunk are under way while this one is computed.
      ir::Builder ahead = ir::Builder::before(*extracts_[i == 0 ? 0 : i - 1]);
      maps_.emplace_back();
      for (Op* op : ops_)
        if (op->is<ir::LoadOp>())
          maps_[i][op->result()] = load_chunk(ahead, *op, i, whole_axes(op->result()->type().rank()),
                                              chunk_type(op->result()->type().element(), i));
      for (Vector const& vector : vectors_) spread_chunk(ahead, vector, i);
    }
    for (std::size_t i = 0; i < extracts_.size(); ++i) {
      ir::Builder builder = ir::Builder::before(*extracts_[i]);
      for (Op* op : ops_)
        if (!op->is<ir::LoadOp>()) compute_chunk(builder, *op, i);
      ir::replace(*extracts_[i], maps_[i].at(&tile_));
    }
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
    std::unordered_set<Op const*> found;
    for (ir::Use const& use : tile_.uses()) {
      bool const chunk = use.user->is<ir::ExtractOp>() && use.user->parent() == block &&
                         !use.user->as<ir::ExtractOp>().uniform &&
                         use.user->result()->type().rank() == tile_.type().rank();
      if (!chunk) return false;
      found.insert(use.user);
    }
    for (Op& op : *tile_.defining_op()->parent())
      if (found.contains(&op)) extracts_.push_back(&op);
    return extracts_.size() > 1;
  }

  /// Finds the elementwise ops and loads whose results nothing but the chunks needs. False: no load that is worth it.
  bool find_ops() {
    std::unordered_set<Op const*> users(extracts_.begin(), extracts_.end());
    bool worth = false;
    bool after = true;
    ir::Block& block = *tile_.defining_op()->parent();
    std::vector<Op*> all;
    for (Op& op : block) all.push_back(&op);
    for (auto at = all.rbegin(); at != all.rend(); ++at) {
      Op& op = **at;
      after = after && &op != tile_.defining_op();
      if (after || op.result_count() != 1 || op.block_count() != 0) continue;
      Value const& result = *op.result();
      bool const alike = result.type().is_tile() && result.type().shape() == tile_.type().shape() &&
                         result.type().layout() == tile_.type().layout();
      bool const possible = (op.is(ir::Family::elementwise) && op.pure()) || can_be_cut(op);
      if (!alike || !possible || result.uses().empty()) continue;
      if (!std::all_of(result.uses().begin(), result.uses().end(),
                       [&](ir::Use const& use) { return users.contains(use.user); }))
        continue;
      users.insert(&op);
      ops_.push_back(&op);
      worth = worth || (op.is<ir::LoadOp>() && ir::registers_of(result.type()) >= worth_chunks_);
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
      std::int64_t const moved = fixed ? 0 : place(i)[static_cast<int>(axes[axis])];
      operands.push_back(moved == 0 ? offsets[at] : builder.same(ir::AddOp{}, {offsets[at], builder.index(moved)}));
    }
    return builder.op(load.as<ir::LoadOp>(), operands, {type}).result();
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
            ir::registers_of(load->result()->type()) < worth_chunks_)
          continue;
        vectors_.push_back({broadcast, expand, load});
      }
  }

  void spread_chunk(ir::Builder& builder, Vector const& vector, std::size_t i) {
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

  void compute_chunk(ir::Builder& builder, Op const& op, std::size_t i) {
    ir::ValueMap& map = maps_[i];
    builder.set_where(op.where());
    for (Value* operand : op.operands())
      if (operand->type().is_tile() && !map.contains(operand)) map[operand] = part_of(builder, *operand, i);
    Op& made = builder.clone(op, map);
    made.result()->set_type(chunk_type(op.result()->type().element(), i));
  }

  Value* part_of(ir::Builder& builder, Value& whole, std::size_t i) const {
    Type const type = chunk_type(whole.type().element(), i);
    if (Op const* const constant = whole.defined_by<ir::ConstantOp>())
      return builder.constant(constant->as<ir::ConstantOp>().value, type);
    ir::ExtractOp part;
    part.offsets = place(i);
    return builder.value(part, {&whole}, type);
  }

  Value& tile_;
  int worth_chunks_, room_;
  std::vector<Op*> extracts_;
  std::vector<Op*> ops_;  ///< in the order of the text
  std::vector<Vector> vectors_;
  std::vector<ir::ValueMap> maps_;  ///< from whole tiles to those of each chunk
};

}  // namespace

PassResult compute_by_chunks(ir::Function& function, AnalysisCache&, PassContext& context) {
  auto const room = static_cast<int>(registers_for_sums(function.warps, context.target));
  std::vector<Value*> tiles;
  ir::walk(function, [&](Op& op) {
    if (!op.is<ir::ExtractOp>()) return;
    Value* const whole = op.operand();
    if (whole->defining_op() == nullptr || !whole->defining_op()->is(ir::Family::elementwise)) return;
    if (std::find(tiles.begin(), tiles.end(), whole) == tiles.end()) tiles.push_back(whole);
  });
  bool changed = false;
  for (Value* tile : tiles) changed = Chunks(*tile, context.target.tuning.tile_worth_chunks, room).run() || changed;
  return result_of(changed);
}

}  // namespace tegula::transform

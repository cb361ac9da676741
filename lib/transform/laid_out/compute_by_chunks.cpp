#include "transform/laid_out/compute_by_chunks.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <unordered_set>
#include <vector>

#include "analysis/effects.hpp"
#include "ir/core/builder.hpp"
#include "ir/core/families.hpp"
#include "ir/core/rewrite.hpp"
#include "ir/core/walk.hpp"
#include "ir/infer/infer.hpp"
#include "ir/memory/accesses.hpp"
#include "ir/memory/registers.hpp"
#include "ir/memory/source.hpp"
#include "layout/parts.hpp"
#include "transform/common/role_registers.hpp"

namespace tegula::transform {
namespace {

using ir::Op;
using ir::Type;
using ir::Value;

/// Tells whether the memory that a load reads is the same just ahead of a later op of its block.
bool may_wait_for(Op const& load, Op const& later) {
  if (analysis::reads_constant_memory(load)) return true;
  Value const& memory = ir::parameter_behind(*load.in<ir::LoadOp>("tensor"));
  auto const keeps = [&](Op const& op) {
    bool const writes = op.info().effects.writes(ir::Space::global);
    bool const elsewhere = op.is<ir::StoreOp>() && &ir::parameter_behind(*op.in<ir::StoreOp>("tensor")) != &memory;
    return !op.is<ir::CallOp>() && (!writes || elsewhere) && analysis::memory_order(op) == ir::MemoryOrder::relaxed;
  };
  bool between = false, same = true;
  for (Op& op : *load.parent()) {
    if (&op == &later) break;
    if (between) {
      same = same && keeps(op);
      for (int i = 0; i < op.block_count(); ++i)
        ir::walk_pre_order(op.block(i), [&](Op& inner) {
          same = same && keeps(inner);
          return ir::Walk::advance;
        });
    }
    between = between || &op == &load;
  }
  return same && between;
}

/// Tells whether all loads of chunks, at that op of the block, give the elements that one load of the whole tile would.
/// null: where earlier chunks have been stored.
bool can_be_cut(Op const& load, Op const* at) {
  return load.is<ir::LoadOp>() && load.as<ir::LoadOp>().part.empty() &&
         (at == nullptr ? analysis::reads_constant_memory(load) : may_wait_for(load, *at)) &&
         load.all<ir::LoadOp>("offsets").size() >= static_cast<std::size_t>(load.result()->type().rank());
}

/// Says how a tile is cut into equal chunks along one axis.
struct Cut {
  Type chunk;
  int axis = 0;
  int registers = 0;  ///< of a thread that hold a chunk
};

/// Cuts a tile along an axis into as few chunks as a thread holds in so many registers. Nothing: they would lie in
/// other threads.
std::optional<Cut> cut_along(Type const& tile, int axis, int registers) {
  std::int64_t const extent = tile.shape()[axis];
  std::optional<Cut> best;
  for (std::int64_t parts = 2; parts <= extent; ++parts) {
    if (extent % parts != 0) continue;
    Extents shape = tile.shape(), first = {0, 0}, last = {0, 0};
    shape[axis] = extent / parts;
    last[axis] = extent - shape[axis];
    layout::Layout const* const held = layout::part_of(*tile.layout(), shape, first);
    if (held == nullptr || layout::part_of(*tile.layout(), shape, last) != held) continue;
    Type const chunk = Type::tile(tile.element(), shape, held);
    best = {chunk, axis, static_cast<int>(ir::registers_of(chunk))};
    if (best->registers <= registers) break;
  }
  return best;
}

/// Cuts a tile along its columns if that leaves chunks of so many registers, else along its rows.
std::optional<Cut> cut_of(Type const& tile, int registers) {
  auto const columns = cut_along(tile, 1, registers), rows = cut_along(tile, 0, registers);
  if (!rows || (columns && columns->registers <= std::max(registers, rows->registers))) return columns;
  return rows;
}

/// Returns the tensor that an op accesses; null: not known.
Value const* memory_of(Op const& op) {
  if (op.operands().empty()) return nullptr;
  Value const* of = op.operand(0);
  if (Op const* const map = of->defined_by<ir::TensorMapOp>()) of = map->operand(0);
  return of->type().is_tensor() ? &ir::parameter_behind(*of) : nullptr;
}

/// Computes tiles of one shape by their chunks: those that are stored in chunks, that go to memory through pointers,
/// and that are reduced along the axis that is cut.
class Chunks {
 public:
  /// `worth_chunks`: registers of a thread from which on a loaded tile is worth more code. `room`: those for a tile and
  /// the vectors spread over it; 0: not known. `beside`: those for all tiles beside the code.
  Chunks(Value& tile, int worth_chunks, int room, int beside)
      : tile_(tile), worth_chunks_(worth_chunks), room_(room), beside_(beside) {
    int at = 0;
    for (Op& op : block()) numbers_[&op] = at++;
  }

  /// Computes the chunks that are used. `parted`: the tile with an axis for the warpgroups that hold parts of its
  /// columns, whose chunks are used; null: those of the tile itself.
  bool run_extracts(Op* parted) {
    parted_ = parted;
    if (!find_extracts()) return false;
    std::unordered_set<Op const*> users(extracts_.begin(), extracts_.end());
    if (parted_ != nullptr) users.insert(parted_);
    std::vector<Op*> const reductions = possible_reductions();
    users.insert(reductions.begin(), reductions.end());
    if (!find_ops(users) || !worth_ || !take_sinks(reductions, {})) return false;
    compute();
    for (std::size_t i = 0; i < extracts_.size(); ++i) ir::replace(*extracts_[i], maps_[i].at(&tile_));
    if (parted_ != nullptr) parted_->erase();
    erase_ops();
    return true;
  }

  /// Computes and stores chunks of a tile that is stored through pointers, if what it is computed from does not fit
  /// beside it.
  bool run_stored() {
    cut_ = cut_of(tile_.type(), worth_chunks_);
    if (!cut_) return false;
    take_cut();
    std::vector<Op*> stores;
    for (Op& op : block())
      if (is_stored_whole(op)) stores.push_back(&op);
    if (stores.empty()) return false;
    points_.assign(places_.size(), stores.back());
    at_ = stores.back();
    std::vector<Op*> const reductions = possible_reductions();
    for (Op const* reduction : reductions)
      if (numbers_.at(reduction) > numbers_.at(at_)) return false;
    std::unordered_set<Op const*> users(reductions.begin(), reductions.end());
    users.insert(stores.begin(), stores.end());
    if (!find_ops(users) || !worth_) return false;
    // Two chunks besides hold the steps of the arithmetic.
    if (taken_registers() + 2 * worth_chunks_ <= beside_ || !take_sinks(reductions, stores)) return false;
    compute();
    for (Op* store : stores_) store->erase();
    erase_ops();
    return true;
  }

 private:
  [[nodiscard]] ir::Block& block() const { return *tile_.defining_op()->parent(); }
  [[nodiscard]] bool alike(Value const& value) const {
    return value.type().is_tile() && value.type().shape() == tile_.type().shape() &&
           value.type().layout() == tile_.type().layout();
  }
  [[nodiscard]] bool is_stored_whole(Op const& op) const {
    return op.is<ir::StoreOp>() && op.as<ir::StoreOp>().part.empty() && alike(*op.in<ir::StoreOp>("tile"));
  }

  /// Takes the equal chunks of a whole tile.
  void take_cut() {
    std::int64_t const extent = cut_->chunk.shape()[cut_->axis];
    for (std::int64_t at = 0; at < tile_.type().shape()[cut_->axis]; at += extent) {
      Extents place = {0, 0};
      place[cut_->axis] = at;
      places_.push_back(place);
      chunks_.push_back(cut_->chunk);
    }
  }

  void compute() {
    if (parted_ != nullptr) find_group();
    bool const ahead = has_room_ahead();
    maps_.resize(places_.size());
    for (std::size_t i = 0; i < places_.size() && ahead; ++i) {
      if (i != 0 && points_[i] == points_[i - 1]) continue;
      // The loads of the next chunk are under way while this one is computed.
      ir::Builder builder = ir::Builder::before(*points_[i == 0 ? 0 : i - 1]);
      load_chunks(builder, i);
    }
    for (std::size_t i = 0; i < places_.size(); ++i) {
      ir::Builder builder = ir::Builder::before(*points_[i]);
      if (ahead && i != 0 && points_[i] == points_[i - 1]) load_chunks(builder, i);
      for (Op* op : ops_) compute_chunk(builder, *op, i);
      for (Op* store : stores_) store_chunk(builder, *store, i);
      for (Op* reduction : reductions_) combine_chunk(builder, *reduction, i);
    }
    ir::Builder end = ir::Builder::before(*points_.back());
    for (Op* reduction : reductions_) finish(end, *reduction);
    for (Op* op : late_)
      if (numbers_.at(op) < numbers_.at(points_.back())) op->move_before(*points_.back());
  }

  void load_chunks(ir::Builder& builder, std::size_t i) {
    for (Op* op : ops_)
      if (op->is<ir::LoadOp>()) maps_[i][op->result()] = loaded(builder, *op, i);
    for (Vector const& vector : vectors_) spread_chunk(builder, vector, i);
  }

  void erase_ops() {
    for (auto op = ops_.rbegin(); op != ops_.rend(); ++op) (*op)->erase();
    for (Vector const& vector : vectors_) {
      vector.broadcast->erase();
      if (vector.expand != nullptr) vector.expand->erase();
      vector.load->erase();
    }
  }

  /// Tells whether a thread has registers for the loads of two chunks.
  [[nodiscard]] bool has_room_ahead() const {
    return other_registers() + 2 * loaded_registers() / static_cast<int>(places_.size()) <= beside_;
  }
  /// Counts the registers of all that the tiles are computed from.
  [[nodiscard]] int taken_registers() const { return other_registers() + loaded_registers(); }
  /// Counts those of what is loaded for them.
  [[nodiscard]] int loaded_registers() const {
    int sum = 0;
    for (Op const* op : ops_)
      if (op->is<ir::LoadOp>()) sum += registers_of_load(*op);
    for (Vector const& vector : vectors_) sum += ir::registers_of(vector.load->result()->type());
    return sum;
  }
  /// Counts those of other tiles.
  [[nodiscard]] int other_registers() const {
    int sum = 0;
    std::unordered_set<Value const*> seen;
    for (Op const* op : ops_) {
      for (Value const* operand : op->operands()) {
        if (!operand->type().is_tile() || !seen.insert(operand).second) continue;
        Op const* const made = operand->defining_op();
        bool const inside = std::find(ops_.begin(), ops_.end(), made) != ops_.end();
        bool const spread = made != nullptr && (ir::makes_elements(*made) || made->is<ir::BroadcastOp>());
        if (!inside && !spread) sum += ir::registers_of(operand->type());
      }
    }
    return sum;
  }
  /// Counts registers of a loaded tile. Narrow elements that come one by one take one each at first.
  static int registers_of_load(Op const& load) {
    Type const& type = load.result()->type();
    std::int64_t const at_once = std::max<std::int64_t>(load.as<ir::LoadOp>().vector, 1) * bytes(type.element());
    constexpr std::int64_t word = 4;
    return static_cast<int>(ir::registers_of(type) * std::max<std::int64_t>(word / at_once, 1));
  }

  /// Lists the reductions of such tiles along the axis that is cut, whose results no such tile is computed from.
  std::vector<Op*> possible_reductions() {
    std::vector<Op*> found;
    int const axis = only_cut_axis();
    if (axis < 0) return found;
    for (Op& op : block()) {
      if (!op.is<ir::ReduceOp>() || !alike(*op.operand())) continue;
      auto const& reduce = op.as<ir::ReduceOp>();
      bool const free = reduce.order == ir::Order::any || reduce.combine != ir::Combine::sum;
      if (reduce.axis != axis || !free || reduce.combine == ir::Combine::product) continue;
      if (bytes(op.result()->type().element()) != 4 || !folded_type(reduce, op.operand()->type().element())) continue;
      if (!can_be_late(op)) continue;
      found.push_back(&op);
    }
    return found;
  }

  /// Returns the axis of the tile along which alone chunks lie; -1: they lie along several ones.
  [[nodiscard]] int only_cut_axis() const {
    Extents const& whole = parted_ != nullptr ? parted_->result()->type().shape() : tile_.type().shape();
    int found = -1;
    for (int axis = 0; axis < whole.size(); ++axis) {
      bool cut = false;
      for (std::size_t i = 0; i < chunks_.size(); ++i) {
        if (chunks_[i] != chunks_.front()) return -1;
        cut = cut || chunks_[i].shape()[axis] != whole[axis];
      }
      if (!cut) continue;
      if (found >= 0) return -1;
      found = axis;
    }
    return parted_ != nullptr && found == 2 ? 1 : found;
  }

  /// Tells whether all that follows from a reduction can come after the last chunk; then it is added to `late_`.
  bool can_be_late(Op& reduction) {
    std::vector<Op*> late;
    std::vector<Op*> left = {&reduction};
    while (!left.empty()) {
      Op* const op = left.back();
      left.pop_back();
      for (int i = 0; i < op->result_count(); ++i)
        for (ir::Use const& use : op->result(i)->uses()) {
          Op* const user = use.user;
          if (user == &block().back() || std::find(late.begin(), late.end(), user) != late.end()) continue;
          bool const stores = user->is<ir::StoreOp>() && !is_stored_whole(*user) && can_wait(*user);
          bool const computes = user->pure() && user->block_count() == 0;
          if (user->parent() != &block() || (!stores && !computes)) return false;
          for (int k = 0; k < user->result_count(); ++k)
            if (alike(*user->result(k))) return false;
          late.push_back(user);
          left.push_back(user);
        }
    }
    for (Op* op : late)
      if (std::find(late_.begin(), late_.end(), op) == late_.end()) late_.push_back(op);
    std::sort(late_.begin(), late_.end(), [&](Op* a, Op* b) { return numbers_.at(a) < numbers_.at(b); });
    return true;
  }

  /// Tells whether a store can come after the last chunk: nothing in between accesses its tensor.
  [[nodiscard]] bool can_wait(Op const& store) const {
    Value const* const memory = memory_of(store);
    bool apart = true;
    auto const see = [&](Op const& op) {
      auto const& effects = op.info().effects;
      bool const touches = effects.writes(ir::Space::global) || effects.reads(ir::Space::global);
      Value const* const other = touches ? memory_of(op) : nullptr;
      apart = apart && !op.is<ir::CallOp>() && (!touches || (other != nullptr && other != memory)) &&
              analysis::memory_order(op) == ir::MemoryOrder::relaxed;
    };
    for (Op& op : block()) {
      if (numbers_.at(&op) <= numbers_.at(&store) || numbers_.at(&op) >= numbers_.at(points_.back())) continue;
      see(op);
      for (int i = 0; i < op.block_count(); ++i)
        ir::walk_pre_order(op.block(i), [&](Op& inner) {
          see(inner);
          return ir::Walk::advance;
        });
    }
    return apart;
  }

  /// Takes the reductions and stores of tiles that are computed by chunks. False: some op needs what comes later.
  bool take_sinks(std::vector<Op*> const& reductions, std::vector<Op*> const& stores) {
    std::unordered_set<Op const*> const made(ops_.begin(), ops_.end());
    for (Op* op : reductions)
      if (made.contains(op->operand()->defining_op())) reductions_.push_back(op);
    for (Op* op : stores)
      if (made.contains(op->in<ir::StoreOp>("tile")->defining_op())) stores_.push_back(op);
    late_.clear();
    for (Op* op : reductions_) can_be_late(*op);
    if (!stores.empty() && (stores_.size() != stores.size() || !stores_go_along())) return false;
    for (Op const* op : ops_)
      if (!comes_in_time(*op, made)) return false;
    return true;
  }

  /// Tells whether what an op takes is there ahead of the first chunk.
  [[nodiscard]] bool comes_in_time(Op const& op, std::unordered_set<Op const*> const& made) const {
    int const first = numbers_.at(points_.front());
    auto const in_time = [&](Value const* operand) {
      Op const* const from = operand->defining_op();
      bool const spread =
          std::any_of(vectors_.begin(), vectors_.end(), [&](Vector const& vector) { return vector.broadcast == from; });
      return from == nullptr || from->parent() != op.parent() || made.contains(from) || spread ||
             numbers_.at(from) < first;
    };
    return std::all_of(op.operands().begin(), op.operands().end(), in_time);
  }

  /// Tells whether stores can be done in chunks one after another: each load of what one writes reads the same box.
  [[nodiscard]] bool stores_go_along() const {
    for (Op const* store : stores_) {
      if (store != stores_.back() && !can_wait(*store)) return false;
      for (Op const* load : ops_) {
        if (!load->is<ir::LoadOp>() || memory_of(*load) != memory_of(*store)) continue;
        auto const from = load->all<ir::LoadOp>("offsets"), to = store->all<ir::StoreOp>("offsets");
        if (load->operand(0) != store->operand(0) || !std::equal(from.begin(), from.end(), to.begin(), to.end()))
          return false;
      }
    }
    return true;
  }

  void store_chunk(ir::Builder& builder, Op const& store, std::size_t i) {
    builder.set_where(store.where());
    ir::ValueMap map = maps_[i];
    Op& made = builder.clone(store, map);
    ir::Builder ahead = ir::Builder::before(made);
    int const leading = static_cast<int>(store.operand(0)->type().rank()) - tile_.type().rank();
    for (int axis = 0; axis < tile_.type().rank(); ++axis) {
      if (place(i)[axis] == 0) continue;
      int const at = made.position("offsets") + leading + axis;
      made.set_operand(at, ahead.same(ir::AddOp{}, {made.operand(at), ahead.index(place(i)[axis])}));
    }
  }

  static Value* combined(ir::Builder& builder, ir::Combine combine, Value* a, Value* b) {
    if (combine == ir::Combine::sum) return builder.same(ir::AddOp{}, {a, b});
    return combine == ir::Combine::max ? builder.same(ir::MaxOp{}, {a, b}) : builder.same(ir::MinOp{}, {a, b});
  }

  /// Returns the fold of chunks along the axis of a reduction: the elements of one thread.
  [[nodiscard]] ir::FoldOp fold_of(ir::ReduceOp const& reduction) const {
    std::int64_t const axis = parted_ != nullptr ? 2 : reduction.axis;
    return ir::make_op<ir::FoldOp>(axis, reduction.combine);
  }
  [[nodiscard]] std::optional<Type> folded_type(ir::ReduceOp const& reduction, Element element) const {
    auto const folded = ir::infer(fold_of(reduction), {chunk_type(element, 0)});
    return folded.ok() ? std::optional(folded.types.front()) : std::nullopt;
  }

  /// Combines the elements of a chunk that a thread has with those of the chunks before.
  void combine_chunk(ir::Builder& builder, Op const& reduction, std::size_t i) {
    auto const& reduce = reduction.as<ir::ReduceOp>();
    builder.set_where(reduction.where());
    Value* const chunk = maps_[i].at(reduction.operand());
    Value* const folded = builder.value(fold_of(reduce), {chunk}, *folded_type(reduce, chunk->type().element()));
    Value*& so_far = combined_[&reduction];
    so_far = so_far == nullptr ? folded : combined(builder, reduce.combine, so_far, folded);
  }

  /// Reduces what threads have of all chunks.
  void finish(ir::Builder& builder, Op& reduction) {
    builder.set_where(reduction.where());
    Value* all = combined_.at(&reduction);
    if (parted_ != nullptr) {
      Extents const& shape = all->type().shape();
      Extents const flat = {shape[0], shape[1] * shape[2]};
      all = builder.value(ir::ReshapeOp{}, {all},
                          Type::tile(all->type().element(), flat, all->type().layout()->reshaped(flat)));
    }
    ir::replace(reduction, builder.value(reduction.as<ir::ReduceOp>(), {all}, reduction.result()->type()));
  }

  /// Finds the chunks, in the order of the text. False: there are none.
  bool find_extracts() {
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

  /// Tells whether an op computes or loads the tile's elements one by one, for users alone.
  bool computes_for(std::unordered_set<Op const*> const& users, Op const& op) const {
    if (op.result_count() != 1 || op.block_count() != 0) return false;
    Value const& result = *op.result();
    bool const possible = (op.is(ir::Family::elementwise) && op.pure()) || can_be_cut(op, at_);
    return alike(result) && possible && !result.uses().empty() &&
           std::all_of(result.uses().begin(), result.uses().end(),
                       [&](ir::Use const& use) { return users.contains(use.user); });
  }

  /// Finds the elementwise ops and loads whose results nothing but the users needs. False: the tile is not one of them.
  bool find_ops(std::unordered_set<Op const*> users) {
    std::vector<Op*> all;
    for (Op& op : block()) all.push_back(&op);
    for (auto at = all.rbegin(); at != all.rend(); ++at) {
      Op& op = **at;
      if (!computes_for(users, op)) continue;
      users.insert(&op);
      ops_.push_back(&op);
      worth_ = worth_ || (op.is<ir::LoadOp>() && ir::registers_of(op.result()->type()) >= worth_chunks_);
    }
    std::reverse(ops_.begin(), ops_.end());
    find_vectors();
    worth_ = worth_ || (room_ != 0 && registers_with_vectors() > room_);
    return std::find(ops_.begin(), ops_.end(), tile_.defining_op()) != ops_.end();
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

  [[nodiscard]] Extents const& place(std::size_t i) const { return places_[i]; }
  [[nodiscard]] Type chunk_type(Element element, std::size_t i) const {
    return Type::tile(element, chunks_[i].shape(), chunks_[i].layout());
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
        if (broadcast == nullptr || !broadcast->is<ir::BroadcastOp>() || broadcast->parent() != &block()) continue;
        Op* const below = broadcast->operand()->defining_op();
        Op* const expand = below != nullptr && below->is<ir::ExpandDimsOp>() ? below : nullptr;
        Op* const load = expand != nullptr ? expand->operand()->defining_op() : below;
        bool const alone = operand->uses().size() == 1 && broadcast->operand()->uses().size() == 1 && load != nullptr &&
                           load->is<ir::LoadOp>() && load->result()->uses().size() == 1;
        if (!alone || !can_be_cut(*load, at_) || !is_cut(*broadcast) ||
            operand->type().shape() != tile_.type().shape() || operand->type().layout() != tile_.type().layout() ||
            (parted_ != nullptr && broadcast->operand()->type().shape()[0] != 1) ||
            ir::registers_of(load->result()->type()) < worth_chunks_)
          continue;
        vectors_.push_back({broadcast, expand, load});
      }
  }

  /// Tells whether chunks need parts of a vector that is spread, not all of it.
  [[nodiscard]] bool is_cut(Op const& broadcast) const {
    return !cut_ || broadcast.operand()->type().shape()[cut_->axis] != 1;
  }

  void spread_chunk(ir::Builder& builder, Vector const& vector, std::size_t i) {
    if (parted_ != nullptr) {
      Extents const& loaded = vector.load->result()->type().shape();
      std::int64_t const columns = chunks_[i].shape()[2];
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
    ir::Builder builder = ir::Builder::before(*points_.front());
    Value* const warp = builder.op(ir::WarpIndexOp{}, {}, {Type::index()}).result();
    std::int64_t const warps = parted_->function()->warps / parts[1];
    Value* const group = builder.same(ir::DivOp{}, {warp, builder.index(warps)});
    of_group_ = builder.same(ir::MulOp{}, {group, builder.index(parts[2])});
  }

  void compute_chunk(ir::Builder& builder, Op const& op, std::size_t i) {
    ir::ValueMap& map = maps_[i];
    if (op.is<ir::LoadOp>()) {
      if (!map.contains(op.result())) map[op.result()] = loaded(builder, op, i);
      return;
    }
    for (Vector const& vector : vectors_)
      if (std::find(op.operands().begin(), op.operands().end(), vector.broadcast->result()) != op.operands().end() &&
          !map.contains(vector.broadcast->result()))
        spread_chunk(builder, vector, i);
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
  int worth_chunks_, room_, beside_;
  Op* parted_ = nullptr;
  Op const* at_ = nullptr;            ///< where all chunks are loaded; null: between stores of others
  std::optional<Cut> cut_;            ///< of a tile that is not in chunks yet
  Value* of_group_ = nullptr;         ///< columns in front of those of this warp's group
  bool worth_ = false;                ///< loads of chunks are worth more code
  std::map<Op const*, int> numbers_;  ///< of the block's ops
  std::vector<Op*> extracts_;
  std::vector<Extents> places_;  ///< of the chunks
  std::vector<Type> chunks_;
  std::vector<Op*> points_;  ///< each chunk is computed before one of them
  std::vector<Op*> ops_;     ///< in the order of the text
  std::vector<Op*> reductions_, stores_;
  std::vector<Op*> late_;  ///< ops that follow from reductions, in the order of the text
  std::map<Op const*, Value*> combined_;
  std::vector<Vector> vectors_;
  std::map<Value*, Value*> parts_;  ///< whole tiles with the axis of the groups
  std::vector<ir::ValueMap> maps_;  ///< from whole tiles to those of each chunk
};

/// Lists the tiles that elementwise ops compute for a store through pointers alone.
std::vector<Value*> stored_tiles(ir::Function& function) {
  std::vector<Value*> found;
  ir::walk(function, [&](Op& op) {
    if (!op.is<ir::StoreOp>()) return;
    Value* const tile = op.in<ir::StoreOp>("tile");
    bool const computed = tile->defining_op() != nullptr && tile->defining_op()->is(ir::Family::elementwise);
    if (computed && tile->uses().size() == 1 && tile->type().rank() == 2 && tile->type().layout() != nullptr)
      found.push_back(tile);
  });
  return found;
}

/// Tells whether two tiles are computed in one block, of one shape in one layout.
bool are_alike(Value const& a, Value const& b) {
  return a.defining_op()->parent() == b.defining_op()->parent() && a.type().shape() == b.type().shape() &&
         a.type().layout() == b.type().layout();
}

/// Returns the registers that a thread has for tiles beside addresses.
int registers_beside_code(int warps, TargetInfo const& target) {
  std::int64_t const of_role = registers_of_roles(warps, target)[1];
  std::int64_t const all = of_role != 0 ? of_role : registers_of_cta(warps, target);
  return static_cast<int>(all) - target.wgmma.extra_registers;
}

}  // namespace

PassResult compute_by_chunks(ir::Function& function, AnalysisCache&, PassContext& context) {
  auto const room = static_cast<int>(registers_for_sums(function.warps, context.target));
  int const worth = context.target.tuning.tile_worth_chunks;
  int const beside = registers_beside_code(function.warps, context.target);
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
  std::vector<Value*> stored = stored_tiles(function);  // ahead of those in chunks
  bool changed = false;
  for (auto const& [tile, parted] : tiles) changed = Chunks(*tile, worth, room, beside).run_extracts(parted) || changed;
  while (!stored.empty()) {
    auto const alike = [&, last = stored.back()](Value const* other) { return are_alike(*last, *other); };
    auto const others = std::partition(stored.begin(), stored.end(), std::not_fn(alike));
    for (auto at = others; at != stored.end(); ++at) {
      if (!Chunks(**at, worth, room, beside).run_stored()) continue;
      changed = true;
      break;  // the others went along
    }
    stored.erase(others, stored.end());
  }
  return result_of(changed);
}

}  // namespace tegula::transform

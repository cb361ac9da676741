#include "transform/laid_out/compute_by_chunks.hpp"

#include <algorithm>
#include <functional>
#include <unordered_set>
#include <vector>

#include "analysis/effects.hpp"
#include "ir/core/families.hpp"
#include "ir/core/rewrite.hpp"
#include "ir/core/walk.hpp"
#include "ir/memory/accesses.hpp"
#include "ir/memory/registers.hpp"
#include "transform/common/role_registers.hpp"
#include "transform/laid_out/chunk_reductions.hpp"
#include "transform/laid_out/chunk_vectors.hpp"
#include "transform/laid_out/chunks_of_tile.hpp"

namespace tegula::transform {
namespace {

using ir::Op;
using ir::Type;
using ir::Value;

/// Says how many registers of a thread decide.
struct Rooms {
  int worth_chunks;  ///< from which on a loaded tile is worth more code
  int sums;          ///< for a tile and the vectors spread over it; 0: not known
  int beside;        ///< for all tiles beside the code
};

/// Tells whether arithmetic makes a tile.
bool is_computed(Value const& tile) {
  return tile.defining_op() != nullptr && tile.defining_op()->is(ir::Family::elementwise);
}

/// Tells whether some op of a block loads, spreads, or reduces a tile that is worth chunks. It is much cheaper than to
/// find what can be computed by chunks.
bool has_worth_chunks(ir::Block const& block, int registers) {
  auto const worth = [&](Value const& tile) {
    return tile.type().is_tile() && ir::registers_of(tile.type()) >= registers;
  };
  auto const spreads = [&](Op& op) {
    Op const* const load = op.is<ir::BroadcastOp>() ? vector_of(op).load : nullptr;
    return load != nullptr && worth(*load->result());
  };
  for (Op& op : block)
    if ((op.is<ir::LoadOp>() && worth(*op.result())) || spreads(op) ||
        (op.is<ir::ReduceOp>() && is_computed(*op.operand()) && worth(*op.operand())))
      return true;
  return false;
}

/// Computes tiles of one shape by their chunks: those that are stored in chunks, that go to memory through pointers,
/// and that are reduced along the axis that is cut.
class Chunks {
 public:
  Chunks(Value& tile, Rooms const& rooms)
      : rooms_(rooms), chunks_(tile), vectors_(chunks_), reductions_(chunks_, numbers_) {
    int at = 0;
    for (Op& op : chunks_.block()) numbers_[&op] = at++;
  }

  /// Computes the chunks that are used. `parted`: as for TileChunks.
  bool run_extracts(Op* parted) {
    if (!chunks_.take_extracts(parted)) return false;
    std::vector<Op*> const& extracts = chunks_.extracts();
    std::unordered_set<Op const*> users(extracts.begin(), extracts.end());
    if (parted != nullptr) users.insert(parted);
    std::vector<Op*> const reductions = reductions_.possible();
    users.insert(reductions.begin(), reductions.end());
    if (!find_ops(users) || !(worth_ || is_crowded(reductions)) || !take_sinks(reductions, {})) return false;
    compute();
    for (std::size_t i = 0; i < extracts.size(); ++i) ir::replace(*extracts[i], maps_[i].at(&chunks_.tile()));
    if (parted != nullptr) parted->erase();
    erase_ops();
    return true;
  }

  /// Computes and stores chunks of a tile that is stored through pointers, if what it is computed from does not fit
  /// beside it.
  bool run_stored() {
    if (!chunks_.take_cut(rooms_.worth_chunks)) return false;
    std::vector<Op*> stores;
    for (Op& op : chunks_.block())
      if (chunks_.is_stored_whole(op)) stores.push_back(&op);
    if (stores.empty()) return false;
    chunks_.compute_before(*stores.back());
    std::vector<Op*> const reductions = reductions_.possible();
    for (Op const* reduction : reductions)
      if (numbers_.at(reduction) > numbers_.at(stores.back())) return false;
    std::unordered_set<Op const*> users(reductions.begin(), reductions.end());
    users.insert(stores.begin(), stores.end());
    if (!find_ops(users) || !worth_) return false;
    // Two chunks besides hold the steps of the arithmetic.
    int const taken = other_registers() + loaded_registers();
    if (taken + 2 * rooms_.worth_chunks <= rooms_.beside || !take_sinks(reductions, stores)) return false;
    compute();
    for (Op* store : stores_) store->erase();
    erase_ops();
    return true;
  }

 private:
  void compute() {
    chunks_.find_group();
    bool const ahead = has_room_ahead();
    maps_.resize(chunks_.count());
    for (std::size_t i = 0; i < chunks_.count() && ahead; ++i) {
      if (chunks_.follows(i)) continue;
      // The loads of the next chunk are under way while this one is computed.
      ir::Builder builder = ir::Builder::before(chunks_.point(i == 0 ? 0 : i - 1));
      load_chunks(builder, i);
    }
    for (std::size_t i = 0; i < chunks_.count(); ++i) {
      ir::Builder builder = ir::Builder::before(chunks_.point(i));
      if (ahead && chunks_.follows(i)) load_chunks(builder, i);
      for (Op const* op : ops_) compute_chunk(builder, *op, i);
      for (Op const* store : stores_) store_chunk(builder, *store, i);
      reductions_.combine(builder, maps_[i]);
    }
    reductions_.finish();
  }

  void load_chunks(ir::Builder& builder, std::size_t i) {
    for (Op* op : ops_)
      if (op->is<ir::LoadOp>()) maps_[i][op->result()] = chunks_.load(builder, *op, i);
    vectors_.spread(builder, i, maps_[i]);
  }

  void erase_ops() {
    for (auto op = ops_.rbegin(); op != ops_.rend(); ++op) (*op)->erase();
    vectors_.erase();
  }

  /// Tells whether a thread has registers for the loads of two chunks.
  [[nodiscard]] bool has_room_ahead() const {
    return other_registers() + 2 * loaded_registers() / static_cast<int>(chunks_.count()) <= rooms_.beside;
  }
  /// Counts the registers of what is loaded for the tiles.
  [[nodiscard]] int loaded_registers() const {
    int sum = vectors_.registers();
    for (Op const* op : ops_)
      if (op->is<ir::LoadOp>()) sum += registers_of_load(*op);
    return sum;
  }
  /// Counts those of other tiles that they are computed from.
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
  /// Tells whether a thread has no registers for a tile that is computed for a reduction alone, beside the
  /// sources of the tiles. A tile that is stored in chunks would be computed in them without this pass.
  [[nodiscard]] bool is_crowded(std::vector<Op*> const& reductions) const {
    int largest = 0;
    for (Op const* reduction : reductions)
      if (is_computed(*reduction->operand()))
        largest = std::max(largest, ir::registers_of(reduction->operand()->type()));
    int const taken = other_registers() + vectors_.registers() + largest;
    return largest >= rooms_.worth_chunks && taken + rooms_.worth_chunks > rooms_.beside;
  }
  /// Counts registers of a loaded tile. Narrow elements that come one by one take one each at first.
  static int registers_of_load(Op const& load) {
    Type const& type = load.result()->type();
    std::int64_t const at_once = std::max<std::int64_t>(load.as<ir::LoadOp>().vector, 1) * bytes(type.element());
    constexpr std::int64_t word = 4;
    return static_cast<int>(ir::registers_of(type) * std::max<std::int64_t>(word / at_once, 1));
  }

  /// Takes the reductions and stores of tiles that are computed by chunks. False: some op needs what comes later.
  bool take_sinks(std::vector<Op*> const& reductions, std::vector<Op*> const& stores) {
    std::unordered_set<Op const*> const made(ops_.begin(), ops_.end());
    std::vector<Op*> taken;
    for (Op* op : reductions)
      if (made.contains(op->operand()->defining_op())) taken.push_back(op);
    reductions_.take(std::move(taken));
    for (Op* op : stores)
      if (made.contains(op->in<ir::StoreOp>("tile")->defining_op())) stores_.push_back(op);
    if (!stores.empty() && (stores_.size() != stores.size() || !stores_go_along())) return false;
    return std::all_of(ops_.begin(), ops_.end(), [&](Op const* op) { return comes_in_time(*op, made); });
  }

  /// Tells whether what an op takes is there ahead of the first chunk.
  [[nodiscard]] bool comes_in_time(Op const& op, std::unordered_set<Op const*> const& made) const {
    int const first = numbers_.at(&chunks_.point(0));
    auto const in_time = [&](Value const* operand) {
      Op const* const from = operand->defining_op();
      return from == nullptr || from->parent() != op.parent() || made.contains(from) || vectors_.contains(from) ||
             numbers_.at(from) < first;
    };
    return std::all_of(op.operands().begin(), op.operands().end(), in_time);
  }

  /// Tells whether stores can be done in chunks one after another: each load of what one writes reads the same box.
  [[nodiscard]] bool stores_go_along() const {
    for (Op const* store : stores_) {
      if (!analysis::may_wait_for(*store, *stores_.back())) return false;
      for (Op const* load : ops_) {
        if (!load->is<ir::LoadOp>() || analysis::may_change_places(*load, *store)) continue;
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
    int const leading = static_cast<int>(store.operand(0)->type().rank()) - chunks_.tile().type().rank();
    for (int axis = 0; axis < chunks_.tile().type().rank(); ++axis) {
      if (chunks_.place(i)[axis] == 0) continue;
      int const at = made.position("offsets") + leading + axis;
      made.set_operand(at, ahead.same(ir::AddOp{}, {made.operand(at), ahead.index(chunks_.place(i)[axis])}));
    }
  }

  /// Tells whether an op computes or loads the tile's elements one by one, for users alone.
  bool computes_for(std::unordered_set<Op const*> const& users, Op const& op) const {
    if (op.result_count() != 1 || op.block_count() != 0) return false;
    Value const& result = *op.result();
    bool const possible = (op.is(ir::Family::elementwise) && op.pure()) || chunks_.can_be_cut(op);
    return chunks_.alike(result) && possible && !result.uses().empty() &&
           std::all_of(result.uses().begin(), result.uses().end(),
                       [&](ir::Use const& use) { return users.contains(use.user); });
  }

  /// Finds the elementwise ops and loads whose results nothing but the users needs. False: the tile is not one of them.
  bool find_ops(std::unordered_set<Op const*> users) {
    std::vector<Op*> all;
    for (Op& op : chunks_.block()) all.push_back(&op);
    for (auto at = all.rbegin(); at != all.rend(); ++at) {
      Op& op = **at;
      if (!computes_for(users, op)) continue;
      users.insert(&op);
      ops_.push_back(&op);
      worth_ = worth_ || (op.is<ir::LoadOp>() && ir::registers_of(op.result()->type()) >= rooms_.worth_chunks);
    }
    std::reverse(ops_.begin(), ops_.end());
    vectors_.find(ops_, rooms_.worth_chunks);
    worth_ = worth_ || (rooms_.sums != 0 && registers_with_vectors() > rooms_.sums);
    return std::find(ops_.begin(), ops_.end(), chunks_.tile().defining_op()) != ops_.end();
  }

  /// Counts registers of the largest tile that the ops take or compute, and of the vectors, which are loaded before it.
  [[nodiscard]] int registers_with_vectors() const {
    int const vectors = vectors_.registers();
    int largest = 0;
    for (Op const* op : ops_)
      for (Value const* operand : op->operands())
        if (operand->type().is_tile()) largest = std::max(largest, ir::registers_of(operand->type()));
    return vectors == 0 ? 0 : largest + vectors;
  }

  void compute_chunk(ir::Builder& builder, Op const& op, std::size_t i) {
    ir::ValueMap& map = maps_[i];
    if (op.is<ir::LoadOp>()) {
      if (!map.contains(op.result())) map[op.result()] = chunks_.load(builder, op, i);
      return;
    }
    vectors_.spread(builder, i, map, &op);
    builder.set_where(op.where());
    for (Value* operand : op.operands())
      if (operand->type().is_tile() && !map.contains(operand)) map[operand] = chunks_.part_of(builder, *operand, i);
    Op& made = builder.clone(op, map);
    made.result()->set_type(chunks_.type(op.result()->type().element(), i));
  }

  Rooms const& rooms_;
  PlacesOfOps numbers_;
  TileChunks chunks_;
  ChunkVectors vectors_;
  ChunkReductions reductions_;
  bool worth_ = false;    ///< loads of chunks are worth more code
  std::vector<Op*> ops_;  ///< in the order of the text
  std::vector<Op*> stores_;
  std::vector<ir::ValueMap> maps_;  ///< from whole tiles to those of each chunk
};

/// Lists the tiles that elementwise ops compute and of which chunks are extracted, each with the op that gives it an
/// axis for warpgroups, if the chunks are of that tile.
std::vector<std::pair<Value*, Op*>> chunked_tiles(ir::Function& function) {
  std::vector<std::pair<Value*, Op*>> tiles;
  ir::walk(function, [&](Op& op) {
    if (!op.is<ir::ExtractOp>()) return;
    Op* parted = op.operand()->defined_by<ir::ReshapeOp>();
    if (parted != nullptr && (parted->operand()->type().rank() != 2 || parted->result()->type().rank() != 3)) return;
    Value* const whole = parted != nullptr ? parted->operand() : op.operand();
    if (!is_computed(*whole)) return;
    if (std::find(tiles.begin(), tiles.end(), std::pair(whole, parted)) == tiles.end())
      tiles.emplace_back(whole, parted);
  });
  return tiles;
}

/// Lists the tiles that elementwise ops compute for a store through pointers alone.
std::vector<Value*> stored_tiles(ir::Function& function) {
  std::vector<Value*> found;
  ir::walk(function, [&](Op& op) {
    if (!op.is<ir::StoreOp>()) return;
    Value* const tile = op.in<ir::StoreOp>("tile");
    if (is_computed(*tile) && tile->uses().size() == 1 && tile->type().rank() == 2 && tile->type().layout() != nullptr)
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

PassResult compute_by_chunks(ir::Function& function, PassContext& context) {
  Rooms const rooms = {context.target.tuning.tile_worth_chunks,
                       static_cast<int>(registers_for_sums(function.warps, context.target)),
                       registers_beside_code(function.warps, context.target)};
  std::map<ir::Block const*, bool> seen;
  auto const worth = [&](Value const& tile) {
    auto const [at, added] = seen.try_emplace(tile.defining_op()->parent());
    if (added) at->second = has_worth_chunks(*at->first, rooms.worth_chunks);
    return at->second;
  };
  auto const chunked = chunked_tiles(function);
  std::vector<Value*> stored = stored_tiles(function);  // ahead of those in chunks
  bool changed = false;
  for (auto const& [tile, parted] : chunked)
    changed = (worth(*tile) && Chunks(*tile, rooms).run_extracts(parted)) || changed;
  std::erase_if(stored, [&](Value const* tile) { return !worth(*tile); });
  while (!stored.empty()) {
    auto const alike = [&, last = stored.back()](Value const* other) { return are_alike(*last, *other); };
    auto const others = std::partition(stored.begin(), stored.end(), std::not_fn(alike));
    for (auto at = others; at != stored.end(); ++at) {
      if (!Chunks(**at, rooms).run_stored()) continue;
      changed = true;
      break;  // the others went along
    }
    stored.erase(others, stored.end());
  }
  return result_of(changed);
}

}  // namespace tegula::transform

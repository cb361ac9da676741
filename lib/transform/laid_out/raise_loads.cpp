#include "transform/laid_out/raise_loads.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include "analysis/effects.hpp"
#include "analysis/register_pressure.hpp"
#include "ir/core/families.hpp"
#include "ir/core/walk.hpp"

namespace tegula::transform {
namespace {

using ir::Block;
using ir::Op;

using Run = std::vector<Op*>;

bool can_move(Op const& op) { return op.block_count() == 0 && analysis::is_movable(op); }
/// Tells whether loads pass the op, unless it writes their tensor.
bool is_passed(Op const& op) {
  return can_move(op) || op.is<ir::LoadOp>() || op.is<ir::StoreOp>() || op.is<ir::GatherOp>() || op.is<ir::ScatterOp>();
}
bool loads_tile(Op const& op) { return op.is<ir::LoadOp>() && op.result()->type().is_tile(); }
/// Tells whether an op works on the elements of a tile.
bool computes_tile(Op const& op) {
  return op.result_count() != 0 && op.result()->type().is_tile() && !ir::makes_elements(op);
}

/// Splits a block into runs of ops that loads pass.
std::vector<Run> runs_of(Block& block) {
  std::vector<Run> runs(1);
  for (Op& op : block) {
    if (is_passed(op))
      runs.back().push_back(&op);
    else if (!runs.back().empty())
      runs.emplace_back();
  }
  return runs;
}

/// Moves ops of a run to a place further ahead; can take that back.
class Move {
 public:
  /// Moves the op at `from` to `to`, with the ops between that compute its operands.
  Move(Run const& run, std::size_t from, std::size_t to) : run_(run), from_(from), to_(to) {
    std::set<Op const*> needed{run[from]};
    for (std::size_t i = from + 1; i-- > to_;) {
      if (needed.count(run[i]) == 0) continue;
      if (i != from && !can_move(*run[i])) to_ = i + 1;
      for (ir::Value const* operand : run[i]->operands()) needed.insert(operand->defining_op());
    }
    while (needed.count(run[to_]) != 0 && to_ < from) ++to_;
    for (std::size_t i = to_ + 1; i <= from; ++i)
      if (needed.count(run[i]) != 0) run[i]->move_before(*run[to_]);
  }
  [[nodiscard]] bool moves() const { return to_ < from_; }
  void take_back() {
    for (std::size_t i = from_; i-- > to_;) run_[i]->move_before(*run_[i + 1]);
  }

 private:
  Run const& run_;
  std::size_t from_, to_;
};

/// Returns the first place from `next` on where a load may stand: after stores to its own tensor. Tensors that a
/// kernel writes overlap no other.
std::size_t first_place(Run const& run, std::size_t next, std::size_t from) {
  if (can_move(*run[from])) return next;
  for (std::size_t i = from; i-- > next;)
    if (!analysis::may_change_places(*run[from], *run[i])) return i + 1;
  return next;
}

/// Raises the run's first load that can be; tells whether there was one.
bool raise_one(ir::Function& function, Run const& run, int max_pressure) {
  // The place of the next load: of the first one before arithmetic of tiles, of others after the load before.
  std::size_t next = 0;
  while (next < run.size() && !computes_tile(*run[next])) ++next;
  for (std::size_t from = next; from < run.size(); ++from) {
    if (!loads_tile(*run[from])) continue;
    int const before = analysis::whole_tile_pressure(function);
    std::size_t const first = first_place(run, next, from);
    for (std::size_t to = first; to < from; ++to) {
      if (to != first && !run[to - 1]->is<ir::ReduceOp>()) continue;
      Move move(run, from, to);
      if (!move.moves()) continue;
      if (analysis::whole_tile_pressure(function) <= std::max(before, max_pressure)) return true;
      move.take_back();
    }
    next = from + 1;
  }
  return false;
}

}  // namespace

PassResult raise_loads(ir::Function& function, PassContext& context) {
  Tuning const& tuning = context.target.tuning;
  int const max_pressure = tuning.max_early_registers - analysis::other_registers;
  int loads = 0;
  bool products = false;
  std::vector<Block*> blocks{&function.body()};
  ir::walk(function, [&](Op& op) {
    loads += loads_tile(op) ? 1 : 0;
    products = products || ir::is_tensor_core_product(op);
    for (int b = 0; b < op.block_count(); ++b) blocks.push_back(&op.block(b));
  });
  if (products || loads == 0 || loads > tuning.max_early_loads) return PassResult::unchanged;
  bool changed = false;
  for (Block* block : blocks)
    for (std::size_t r = 0; r < runs_of(*block).size(); ++r)
      while (raise_one(function, runs_of(*block)[r], max_pressure)) changed = true;
  return result_of(changed);
}

}  // namespace tegula::transform

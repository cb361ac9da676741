#include "transform/laid_out/raise_loads.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include "analysis/effects.hpp"
#include "analysis/register_pressure.hpp"
#include "ir/families.hpp"
#include "ir/walk.hpp"

namespace tegula::transform {
namespace {

using ir::Block;
using ir::Op;

/// Registers of tiles that leave 28 warps, of 72 registers a thread, to a multiprocessor.
constexpr int max_pressure = 72 - analysis::other_registers;
/// Kernels with more loads hold more tiles than that.
constexpr std::size_t max_loads = 16;

using Run = std::vector<Op*>;

bool passes(Op const& op) { return op.block_count() == 0 && analysis::is_movable(op); }
bool loads_tile(Op const& op) { return op.is<ir::LoadOp>() && op.result()->type().is_tile(); }

/// Splits a block into runs of ops that loads pass.
std::vector<Run> runs_of(Block& block) {
  std::vector<Run> runs(1);
  for (Op& op : block) {
    if (passes(op))
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
    for (std::size_t i = from + 1; i-- > to;)
      if (needed.count(run[i]) != 0)
        for (ir::Value const* operand : run[i]->operands()) needed.insert(operand->defining_op());
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

/// Raises the run's first load that can be; tells whether there was one.
bool raise_one(ir::Function& function, Run const& run) {
  std::size_t behind = run.size();  // the last load
  for (std::size_t from = 0; from < run.size(); ++from) {
    if (!loads_tile(*run[from])) continue;
    int const before = analysis::whole_tile_pressure(function);
    for (std::size_t to = behind + 1; to < from; ++to) {
      if (to != behind + 1 && !run[to - 1]->is<ir::ReduceOp>()) continue;
      Move move(run, from, to);
      if (!move.moves()) continue;
      if (analysis::whole_tile_pressure(function) <= std::max(before, max_pressure)) return true;
      move.take_back();
    }
    behind = from;
  }
  return false;
}

}  // namespace

PassResult raise_loads(ir::Function& function, AnalysisCache&, PassContext&) {
  std::size_t loads = 0;
  bool products = false;
  std::vector<Block*> blocks{&function.body()};
  ir::walk(function, [&](Op& op) {
    loads += loads_tile(op) ? 1 : 0;
    products = products || ir::is_tensor_core_product(op);
    for (int b = 0; b < op.block_count(); ++b) blocks.push_back(&op.block(b));
  });
  if (products || loads < 2 || loads > max_loads) return PassResult::unchanged;
  bool changed = false;
  for (Block* block : blocks)
    for (std::size_t r = 0; r < runs_of(*block).size(); ++r)
      while (raise_one(function, runs_of(*block)[r])) changed = true;
  return result_of(changed);
}

}  // namespace tegula::transform

// Finds the scalars that may differ between the warps that run an op together.
#pragma once

#include <string>
#include <unordered_set>

#include "ir/core/op.hpp"

namespace tegula::analysis {

/// Scalars of block IR are the same in all lanes of a warp. A divergent one may differ between warps of the executing
/// group. Sources are ops of the trait `per_warp`; arithmetic, branches, loops and calls pass divergence on. A
/// buffer_load of one element at a uniform place is uniform. In a program without races all threads of a group read the
/// same value there.
class Uniformity {
 public:
  /// Compares warps of one group, or, with `replicas`, of all replicas of a partition: their numbers differ too.
  explicit Uniformity(ir::Module const& module, bool replicas = false);

  [[nodiscard]] bool divergent(ir::Value const& value) const { return divergent_.count(&value) != 0; }
  /// True for an if, for or repeat that warps of one group may take differently: no barrier of the group inside.
  [[nodiscard]] bool divergent_control(ir::Op const& op) const;
  /// Tells whether all warps of the group run the block equally often: no elected lane and no divergent control around
  /// it.
  [[nodiscard]] bool is_uniform(ir::Block const& block) const;

  /// Prints one line per divergent value and divergent control op of the function, in the order of its text.
  [[nodiscard]] std::string str(ir::Function const& function) const;

 private:
  bool mark(ir::Value const& value) { return divergent_.insert(&value).second; }
  bool visit(ir::Module const& module, ir::Block const& block, ir::Function const& function);
  bool visit_control(ir::Op const& op);
  bool visit_partitions(ir::Op const& op);
  bool visit_call(ir::Module const& module, ir::Op const& op);
  bool mark_results(ir::Op const& op);

  std::unordered_set<ir::Value const*> divergent_;
  bool replicas_ = false;
};

}  // namespace tegula::analysis

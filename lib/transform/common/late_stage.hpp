// Splits the ops of a loop into those of two stages, of which the last runs an iteration later.
#pragma once

#include <map>
#include <unordered_set>
#include <vector>

#include "ir/core/loop.hpp"

namespace tegula::transform {

/// Lists the products of a loop that can run beside the first product of the next iteration: each reads the result of
/// another product of its iteration, and only adds to a value that the loop carries.
std::vector<ir::Op*> products_that_can_be_late(ir::Op& loop);

/// Splits a loop's ops: its late products, with the ops that only they need where fewer bytes cross then, are the last
/// stage.
class LateStage {
 public:
  LateStage(ir::Op& loop, std::vector<ir::Op*> const& late);

  /// Tells whether the last stage can run an iteration later: the loop carries its sums for it alone, and no copied
  /// tile is read in both stages.
  [[nodiscard]] bool possible() const { return possible_; }
  [[nodiscard]] bool has(ir::Op const& op) const { return late_.contains(&op); }
  /// Tells whether the last stage adds to carried value k.
  [[nodiscard]] bool adds_to(int k) const;
  /// Tells whether a value may differ between iterations.
  [[nodiscard]] bool varies(ir::Value const& value) const;
  /// Lists the values of the first stage that the last one reads an iteration later.
  [[nodiscard]] std::vector<ir::Value*> const& crossing() const { return crossing_; }

 private:
  void gather_late();
  [[nodiscard]] bool needs_late_carry(ir::Op const& op) const;
  [[nodiscard]] bool carried_path_is_late() const;
  [[nodiscard]] bool recomputed(ir::Value const& value) const;
  bool find_crossing();

  using Values = std::unordered_set<ir::Value const*>;
  ir::Loop loop_;
  ir::Block& block_;
  std::unordered_set<ir::Op const*> late_;
  std::vector<int> late_carries_;  ///< carried values to which the last stage adds
  mutable std::map<int, Values> followers_;
  mutable Values recomputed_;
  std::vector<ir::Value*> crossing_;
  bool possible_ = false;
};

}  // namespace tegula::transform

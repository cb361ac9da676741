// Describes the products of a kernel to the search of its plan: in which form, from where, and in how many ways tensor
// cores take them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "transform/common/dot_paths.hpp"
#include "transform/common/dot_turns.hpp"
#include "transform/common/kernel_plan.hpp"
#include "transform/common/role_registers.hpp"

namespace tegula::transform {

/// Returns the warps of a CTA whose `consumers` compute.
constexpr int cta_warps(int consumers) { return consumers + producer_warps; }

/// Holds a loop with products.
struct LoopOfProducts {
  ir::Block* block = nullptr;
  std::vector<std::size_t> products;
  ProductTurns turns;
  std::set<ir::Op const*> late;      ///< that can run late
  std::vector<ir::Value*> crossing;  ///< from one iteration to the next, if they do
};

/// Holds what every candidate of a plan shares: the kernel, its products and their loops.
class PlannedProducts {
 public:
  /// Chooses the form of each product, and which operands warps store. `asked`: the plan that says which are swapped.
  PlannedProducts(ir::Function& of, std::vector<ir::Op*> const& products, CompileOptions const& with,
                  TargetInfo const& on, std::optional<KernelPlan> const& asked);

  ir::Function& kernel;
  std::vector<ir::Op*> const& dots;
  CompileOptions const& options;
  TargetInfo const& gpu;
  std::int64_t sums;
  std::int64_t ctas;  ///< that share rows
  std::vector<ProductForm> forms;
  std::vector<StoredOperands> stored;
  std::vector<target::Finding> reasons;  ///< that keep each product from wgmma
  std::int64_t blocks = 0;               ///< of 64 rows, that warpgroups divide; 0: no product of wgmma
  std::vector<LoopOfProducts> loops;

  /// Tells whether a product stands in a loop with others.
  [[nodiscard]] bool has_company(std::size_t i) const;
  /// Tells whether a product in a loop reads a copied tile.
  [[nodiscard]] bool copies_in_loop() const;
  /// Counts the products that only lanes multiply, with any number of warps.
  [[nodiscard]] int count_by_lanes() const;
  /// Returns the arrangements of so many warps by mma, asked once. Where a product's rows become the left operand of
  /// another one, each warp keeps its own rows, if it can: it has them in registers then.
  [[nodiscard]] std::vector<DotGrid> const& grids_of(std::size_t i, int warps) const;
  /// Lists the ways to multiply a product with so many warps, the best one first. Lanes can always.
  [[nodiscard]] std::vector<ProductPlan> ways(std::size_t i, int warps) const;
  /// Lets no product be one of wgmma: its sums do not fit beside `best`, whose registers exceed the allowed ones.
  void leave_wgmma(KernelPlan const& best);

 private:
  [[nodiscard]] bool gives_up_stages() const;
  [[nodiscard]] bool gains_by_swap(ProductForm const& form, std::int64_t room) const;
  void match_blocks_of_others(std::size_t number);
  void choose_forms();
  void find_stored();
  void find_loops();
  void find_chains();

  std::int64_t room_ = 0;          ///< bytes of shared memory beside the rings
  std::set<std::size_t> chained_;  ///< products that hand rows to the left operand of another one, and these
  mutable std::map<std::pair<std::size_t, int>, std::vector<DotGrid>> grids_;
};

}  // namespace tegula::transform

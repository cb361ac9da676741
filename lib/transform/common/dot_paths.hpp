// Finds the tensor-core products that a dot can become: wgmma of warpgroups, mma of warps, and with how many warps.
#pragma once

#include <string>
#include <vector>

#include "ir/core/op.hpp"
#include "layout/fragment_layouts.hpp"
#include "target/finding.hpp"
#include "tegula/target/target_info.hpp"
#include "transform/common/dot_operands.hpp"

namespace tegula::transform {

/// Describes a tile that a product multiplies, transposed if `turned`.
struct Factor {
  ir::Value const* tile = nullptr;
  bool turned = false;
  [[nodiscard]] Extents shape() const;
  [[nodiscard]] Element element() const { return tile->type().element(); }
  /// Returns the copied tile that it is; null: none.
  [[nodiscard]] FetchedOperand fetched() const;
  /// Tells whether it is computed as the transpose of another tile.
  [[nodiscard]] bool is_transpose() const;
  /// Tells whether warps load it from global memory, or a tile whose transpose it is.
  [[nodiscard]] bool is_loaded() const;
};

/// Names a form in which a dot can be computed: as it is written, or `swapped`, as the transpose of the product of its
/// transposed factors.
struct ProductForm {
  ProductForm(ir::Op const& of, bool is_swapped = false) : dot(&of), swapped(is_swapped) {}
  ir::Op const* dot;
  bool swapped;
  [[nodiscard]] Factor left() const { return {swapped ? dot->rhs() : dot->lhs(), swapped}; }
  [[nodiscard]] Factor right() const { return {swapped ? dot->lhs() : dot->rhs(), swapped}; }
  [[nodiscard]] Extents shape() const { return {left().shape()[0], right().shape()[1]}; }
};

/// Explains why tensor cores have no product of a dot's elements. Empty: they do.
target::Finding why_not_tensor_cores(ir::Op const& dot, TargetInfo const& target);
inline bool fits_tensor_cores(ir::Op const& dot, TargetInfo const& target) {
  return why_not_tensor_cores(dot, target).empty();
}

/// Says where a product of wgmma would read its operands once the warps have stored them to shared memory; null: it
/// reads a copied tile in its place, or a left operand from registers.
struct StoredOperands {
  layout::Layout const* right = nullptr;
  layout::Layout const* left = nullptr;
};
/// Returns the swizzled layouts from which wgmma reads operands that are computed: a right one, and one whose transpose
/// is the left one.
StoredOperands stored_operands(ProductForm product, TargetInfo const& target);

/// Explains why no wgmma takes this product, for any number of warps. Empty: one does.
target::Finding why_not_wgmma(ProductForm product, TargetInfo const& target, StoredOperands const& stored = {});
inline bool fits_wgmma(ProductForm product, TargetInfo const& target, StoredOperands const& stored = {}) {
  return why_not_wgmma(product, target, stored).empty();
}
/// Lists the arrangements of so many warps whose wgmma takes it, those that divide rows first; `why`: what keeps it
/// from all of them. `cta_warps`: with those that copy.
std::vector<layout::WarpGrid> wgmma_grids(ProductForm product, StoredOperands const& stored, int warps, int cta_warps,
                                          TargetInfo const& target, target::Finding& why);

/// Explains why no mma.sync of so many warps takes it. Empty: one does.
std::string why_not_mma(ProductForm product, int warps, TargetInfo const& target);
inline bool fits_mma(ProductForm product, int warps, TargetInfo const& target) {
  return why_not_mma(product, warps, target).empty();
}

/// Describes an arrangement of the warps over the rows and columns of a product of mma.sync.
struct DotGrid {
  layout::WarpGrid grid{0, 0};
  bool direct = false;  ///< warps load their parts of copied operands from where these lie, without an exchange
};
/// Lists the arrangements, those with the fewest copies first. Of these come first the ones that compute and read
/// operands in the least time, if some are computed. Then come those that load their operands directly, the ones whose
/// parts are nearer to squares first. `direct` is not asked of the others.
std::vector<DotGrid> mma_grids(ProductForm product, int warps, TargetInfo const& target);

/// Returns the run of K that each lane has of both operands of a product of mma.sync, read `step` elements of K at a
/// time. Where one is computed from fewer bits, which lie adjacent along K, it is as many elements as an access to
/// memory takes at once. 0: the instruction's own run, for which memory would be read byte by byte.
int run_of_depth(ProductForm product, layout::WarpGrid grid, std::int64_t step);

/// Counts the elements of operands that the warps of mma.sync compute from loaded tiles, an element of which each warp
/// that needs it computes for itself.
std::int64_t computed_elements(ProductForm product, layout::WarpGrid grid);

/// Tells whether mma.sync is the better path of a product whose left operand is computed from fewer bits: it has few
/// columns, for each of which all warps read the right operand.
bool takes_few_bits(ProductForm product);

/// Returns the part of K that a product of mma.sync reads at a time. That is all of K, unless its operands would fill a
/// thread's registers, alone or beside the sums, and can be read in parts from where they were copied.
std::int64_t depth_of_part(ProductForm product, layout::WarpGrid grid, TargetInfo const& target);

}  // namespace tegula::transform

// Finds the tensor-core products that a dot can become: wgmma of warpgroups, mma of warps, and with how many warps.
#pragma once

#include <string>
#include <vector>

#include "ir/op.hpp"
#include "layout/fragment_layouts.hpp"
#include "target/finding.hpp"
#include "tegula/target/target_info.hpp"
#include "transform/common/dot_operands.hpp"

namespace tegula::transform {

/// Explains why tensor cores have no product of a dot's elements. Empty: they do.
target::Finding no_tensor_core(ir::Op const& dot);
/// Explains why no wgmma of so many warps takes this product. Empty: one does.
target::Finding no_wgmma(ir::Op const& dot, int warps);
/// Gives the swizzled layout from which wgmma reads this product's right operand once it is stored to shared memory.
/// Null: it lies there or could be copied there, or wgmma does not take the product.
layout::Layout const* stored_right_layout(ir::Op const& dot);
/// Gives the swizzled layout of a computed tile from which wgmma reads its transpose, this product's left operand, once
/// it is stored to shared memory. Null: the left operand is another one, or wgmma does not take the product.
layout::Layout const* stored_left_layout(ir::Op const& dot);
/// Explains why no mma.sync of so many warps takes it. Empty: one does.
std::string no_mma(ir::Op const& dot, int warps);

/// Describes an arrangement of the warps over the rows and columns of a product of mma.sync.
struct DotGrid {
  layout::WarpGrid grid{0, 0};  ///< no rows: there is none
  bool direct = false;          ///< warps load their parts of copied operands from where these lie, without an exchange
};
/// Chooses the arrangement whose parts are the nearest to squares; arrangements that load their operands directly come
/// first.
DotGrid warp_grid(ir::Op const& dot, int warps);

/// Gives the part of K that a product of mma.sync reads at a time. That is all of K, unless its operands would fill a
/// thread's registers and can be read in parts from where they were copied.
std::int64_t depth_of_part(ir::Op const& dot, layout::WarpGrid grid);

/// Chooses the warps for a kernel with these products. Products for wgmma get whole warpgroups: one for each 64 rows,
/// up to 4, but no more than have registers for the accumulators. Other kernels get as many warps as the largest
/// product keeps busy.
int warps_for_products(std::vector<ir::Op*> const& dots, TargetInfo const& target);

}  // namespace tegula::transform

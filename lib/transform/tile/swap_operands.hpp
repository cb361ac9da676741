// Transposes products whose rows do not fit the tensor cores.
#pragma once

#include "transform/common/pass.hpp"

namespace tegula::transform {

/// Replaces a product by the transpose of the product of its transposed operands. It does so if the columns, but not
/// the rows, are a multiple of 64, the rows of wgmma. Else it does so if the columns, but not the rows, are a multiple
/// of 16, the rows of mma.sync.
///
///   before: %s = for ... carry (%c = %none) : tile<16x128xf32> {      after: %t = for ... carry (%c = %none_t) {
///             %d = dot %a, %b, %c : tile<16x128xf32>                            %d = dot (trans %b), (trans %a), %c
///             yield %d                                                         yield %d
///           }                                                                }
///                                                                            %s = trans %t : tile<16x128xf32>
///
/// It does so too for a product of 16 bits whose rows alone keep all products in fewer warpgroups, of 64 rows each: the
/// others' rows are a multiple of 128 or more, and so are its columns.
///
/// For wgmma both operands of the first kind must be loads (or their transposes), so that it reads them from shared
/// memory. Each element is the same sum. Accumulators that the loop carries for this product alone are carried
/// transposed. Needs: no-calls. Leaves: no promise.
///
/// Order: free behind hoist-loop-invariants.
PassResult swap_operands(ir::Function& function, AnalysisCache& analyses, PassContext& context);

}  // namespace tegula::transform

// Transposes products where the plan says so.
#pragma once

#include "transform/common/pass.hpp"

namespace tegula::transform {

/// Replaces a product that is `swapped` by the transpose of the product of its transposed operands.
///
///   before: %s = for ... carry (%c = %none) : tile<16x128xf32> {      after: %t = for ... carry (%c = %none_t) {
///             %d = dot %a, %b, %c : tile<16x128xf32>                            %d = dot (trans %b), (trans %a), %c
///             yield %d                                                         yield %d
///           }                                                                }
///                                                                            %s = trans %t : tile<16x128xf32>
///
/// Each element is the same sum. Accumulators that the loop carries for this product alone are carried
/// transposed. Needs: whole-kernels. Leaves: no promise.
///
PassResult swap_operands(ir::Function& function, PassContext& context);

}  // namespace tegula::transform

// Products with few rows, turned round.
#pragma once

#include "transform/pass.hpp"

namespace tegula::transform {

/// A product with fewer rows than wgmma takes, and enough columns, becomes the transposed one of its transposed operands.
///
///   before: %s = for ... carry (%c = %none) : tile<16x128xf32> {      after: %t = for ... carry (%c = %none_t) {
///             %d = dot %a, %b, %c : tile<16x128xf32>                            %d = dot (trans %b), (trans %a), %c
///             yield %d                                                         yield %d
///           }                                                                }
///                                                                            %s = trans %t : tile<16x128xf32>
///
/// Only where both operands are loads (or their transposes), so that wgmma can read them from shared memory. Each element
/// is the same sum. Accumulators that the loop carries for this product alone are carried transposed. Needs: no-calls.
/// Leaves: no promise.
PassResult swap_operands(ir::Function& function, AnalysisCache& analyses, PassContext& context);

}  // namespace tegula::transform

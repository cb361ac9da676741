// Transposes products whose rows do not fit the tensor cores.
#pragma once

#include "transform/pass.hpp"

namespace tegula::transform {

/// A product whose columns, not whose rows, are a multiple of the 64 rows that wgmma takes becomes the transposed one
/// of its transposed operands; so does one whose columns, not rows, are a multiple of the 16 rows that mma.sync takes.
///
///   before: %s = for ... carry (%c = %none) : tile<16x128xf32> {      after: %t = for ... carry (%c = %none_t) {
///             %d = dot %a, %b, %c : tile<16x128xf32>                            %d = dot (trans %b), (trans %a), %c
///             yield %d                                                         yield %d
///           }                                                                }
///                                                                            %s = trans %t : tile<16x128xf32>
///
/// For wgmma only where both operands are loads (or their transposes), so that it reads them from shared memory. Each
/// element is the same sum. Accumulators that the loop carries for this product alone are carried transposed. Needs:
/// no-calls. Leaves: no promise.
PassResult swap_operands(ir::Function& function, AnalysisCache& analyses, PassContext& context);

}  // namespace tegula::transform

// Brings reductions side by side whose warps exchange partial results, so that they share a barrier.
#pragma once

#include "transform/common/pass.hpp"

namespace tegula::transform {

/// Moves a reduction, with the arithmetic that it is computed from, just behind an earlier one whose result it does not
/// need. Warps exchange partial results of both through shared memory; code generation emits one barrier for
/// reductions that only arithmetic parts, if none of it needs the first result.
///
///   before: %s = reduce %x {axis = 1}                    after: %s = reduce %x {axis = 1}
///           %m = mul %s, %c                                     %y = mul %x, %x
///           %y = mul %x, %x                                     %q = reduce %y {axis = 1}
///           %q = reduce %y {axis = 1}                           %m = mul %s, %c
///
/// Needs: layouts. Leaves: no promise.
///
/// Order: free after share-items, which reduces nothing.
PassResult join_reductions(ir::Function& function, PassContext& context);

}  // namespace tegula::transform

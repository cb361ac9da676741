// Removes minima and maxima that ranges show to be idle.
#pragma once

#include "transform/common/pass.hpp"

namespace tegula::transform {

/// Replaces a minimum or maximum of integers by the operand that it always returns.
///
///   before: %a = block_index : i64              after: uses of %c use %a
///           %b = min %a, 72057594037927936
///           %c = max %b, 0
///
/// Indices from data or from callers are recorded with such bounds, which a caller may know to hold. Needs: nothing.
/// Leaves: no promise.
PassResult remove_idle_bounds(ir::Function& function, PassContext& context);

}  // namespace tegula::transform

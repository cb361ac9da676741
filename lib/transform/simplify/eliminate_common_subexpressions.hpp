// Eliminates common subexpressions.
#pragma once

#include "transform/common/pass.hpp"

namespace tegula::transform {

/// Keeps only the first of two equal pure ops where the first is visible at the second. Equal loads become one without
/// a store between them that may alias: always for `in` tensors, else within one memory epoch. A store, or a call or
/// block that stores, begins a new epoch; so does each iteration of a loop that stores. Operands of commutative ops may
/// be swapped. Needs: nothing.  Leaves: no two equal pure ops of which one sees the other.
PassResult eliminate_common_subexpressions(ir::Function& function, PassContext& context);

}  // namespace tegula::transform

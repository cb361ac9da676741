// Tells which elementary functions passes expand.
#pragma once

#include "tegula/ir/ops.hpp"

namespace tegula::transform {

/// Tells whether expand-math leaves none of these ops: the expanded rows of tegula/math/elementary.def.
bool is_expanded(ir::OpKind kind);

}  // namespace tegula::transform

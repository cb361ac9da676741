// Tells the elementary functions from other arithmetic.
#pragma once

#include "ir/op.hpp"

namespace tegula::ir {

/// True for an elementwise op that hosts do not compute, but by the arithmetic that expand-math makes of it: the
/// expanded rows of tegula/math/elementary.def.
bool is_expanded(OpInfo const& op);

/// True for a function, root or quotient of floats, which no target computes in one pass of its arithmetic units.
bool is_function(Op const& op);

}  // namespace tegula::ir

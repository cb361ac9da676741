// Tells the elementary functions from other arithmetic.
#pragma once

#include "ir/op.hpp"

namespace tegula::ir {

/// True for a function, root or quotient of floats, which no target computes in one pass of its arithmetic units.
bool is_function(Op const& op);

}  // namespace tegula::ir

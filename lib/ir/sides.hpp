// Reads ops of two sides from either of them.
#pragma once

#include "ir/op.hpp"

namespace tegula::ir {

/// Gives the operand beside `side`: rhs for lhs, and lhs for rhs.
inline Value* other_side(Op const& op, Value const& side) { return op.lhs() == &side ? op.rhs() : op.lhs(); }

}  // namespace tegula::ir

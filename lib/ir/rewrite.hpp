// Small rewrites shared by passes.
#pragma once

#include <initializer_list>
#include <span>

#include "ir/builder.hpp"

namespace tegula::ir {

/// Uses of op's results become uses of `values` (one per result), names pass on to values that have none, and op is
/// erased.
void replace(Op& op, std::span<Value* const> values);
inline void replace(Op& op, Value* value) { replace(op, std::span<Value* const>(&value, 1)); }

/// Moves every op of `from` but its terminator before `position`. Arguments of `from` must have no uses left.
void splice_before(Op& position, Block& from);

/// Erases op and, after it, the pure ops that only it used, and so on. Its results must be unused.
void erase_with_operands(Op& op);

}  // namespace tegula::ir

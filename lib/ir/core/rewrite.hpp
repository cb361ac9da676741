// Provides small rewrites shared by passes.
#pragma once

#include <initializer_list>
#include <span>
#include <vector>

#include "ir/core/builder.hpp"

namespace tegula::ir {

/// Replaces uses of op's results by `values` (one per result), passes names on to values without one, and erases op.
void replace(Op& op, std::span<Value* const> values);
inline void replace(Op& op, Value* value) { replace(op, std::span<Value* const>(&value, 1)); }

/// Replaces the uses that a value has by what `make` returns, which may be computed from the value.
template <class Make>
void replace_uses(Value& value, Make const& make) {
  std::vector<Use> const uses = value.uses();
  Value* const made = make();
  for (Use const& use : uses) use.user->set_operand(use.index, made);
}

/// Moves every op of `from` but its terminator before `position`. Arguments of `from` must be unused.
void splice_before(Op& position, Block& from);

/// Erases op and, after it, the pure ops that only it used, and so on. Its results must be unused.
void erase_with_operands(Op& op);

}  // namespace tegula::ir

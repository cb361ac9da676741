// Erases ops that the wanted ones do not need.
#pragma once

#include <functional>
#include <vector>

#include "ir/core/op.hpp"

namespace tegula::transform {

/// Erases everything in a block and its nested blocks that the `wanted` ops do not need: other ops, values that a loop
/// carries only for themselves, and unused results of branches. Keeps the wanted ops, the ops around them and their
/// operands. Returns true if it changed something.
bool keep_only(ir::Block& block, std::function<bool(ir::Op const&)> const& wanted);

/// True for ops that are kept for their effects: stores, asserts, prints, launch statements, the end of a function.
bool runs_by_itself(ir::Op const& op);

/// Erases the ops of those of the values that nothing uses, if they have no effect, and the ops that only they used.
void erase_unused(std::vector<ir::Value*> const& values);

}  // namespace tegula::transform

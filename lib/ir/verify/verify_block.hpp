// Checks structural rules of the block ops: where they are allowed and which blocks they need around them. Used by
// verifier.cpp.
#pragma once

#include <string>

#include "ir/core/op.hpp"

namespace tegula::ir {

/// Returns the number of blocks that an op must have.
int block_count_of(Op const& op);

/// Explains why a block op is not allowed at its place; empty: it is. Its types and those of its operands are right.
std::string why_not_here(Op const& op, Function const& function);

/// True when a function holds ops of the block family.
bool has_block_ops(Function const& function);

}  // namespace tegula::ir

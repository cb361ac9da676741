// Structural rules of the block ops: where they may stand and what the blocks around them ask. Used by verifier.cpp.
#pragma once

#include <string>

#include "ir/op.hpp"

namespace tegula::ir {

/// Number of blocks that an op must have.
int block_count_of(Op const& op);

/// What is wrong with a block op at its place; empty: nothing. Its types and those of its operands are right.
std::string why_not_here(Op const& op, Function const& function);

/// True when a function holds ops of the block family.
bool has_block_ops(Function const& function);

}  // namespace tegula::ir

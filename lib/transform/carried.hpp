// Values in the interfaces of loops and branches: who carries them, and how they are taken out.
#pragma once

#include "ir/op.hpp"

namespace tegula::transform {

/// Which of the values that the for around an op carries only this op reads, as that operand, and makes; -1: none.
inline int own_carry(ir::Op const& op, int operand) {
  ir::Value const& carried = *op.operand(operand);
  ir::Op const* const loop = op.parent_op();
  if (loop == nullptr || !loop->is<ir::ForOp>() || carried.owner_block() != op.parent() || carried.uses().size() != 1)
    return -1;
  auto const& uses = op.result()->uses();
  int const carry = carried.index() - 1;
  return uses.size() == 1 && uses[0].user == &loop->block().back() && uses[0].index == carry ? carry : -1;
}

/// Removes result i of a for with its init, block argument and yielded value. Result and argument must be unused; uses
/// of the argument by the loop's own yield at position i do not count.
inline void remove_carry(ir::Op& loop, int i) {
  loop.block().back().erase_operand(i);
  loop.block().erase_argument(i + 1);
  loop.erase_operand(i + 3);
  loop.erase_result(i);
}

/// Removes result i of an if with what both blocks yield for it. The result must be unused.
inline void remove_branch_result(ir::Op& branch, int i) {
  branch.block(0).back().erase_operand(i);
  branch.block(1).back().erase_operand(i);
  branch.erase_result(i);
}

}  // namespace tegula::transform

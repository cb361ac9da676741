// Taking values out of the interfaces of loops and branches.
#pragma once

#include "ir/op.hpp"

namespace tegula::transform {

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

// Finds and removes values in the interfaces of loops and branches.
#pragma once

#include <optional>

#include "ir/core/loop.hpp"

namespace tegula::transform {

/// Names value `number` that a for carries.
struct Carry {
  ir::Loop loop;
  int number = 0;
};

/// Finds the for that carries this block argument; none if it is another value.
inline std::optional<Carry> carry_of(ir::Value const& value) {
  ir::Op* const op = value.owner_block() != nullptr ? value.owner_block()->parent_op() : nullptr;
  if (op == nullptr || !op->is<ir::ForOp>()) return std::nullopt;
  Carry const carry{ir::Loop(*op), ir::Loop(*op).carry_of(value)};
  return carry.number >= 0 ? std::optional(carry) : std::nullopt;
}

/// Finds the carried value that only this op of the loop's body reads, as `operand`, and makes; none if there is
/// another reader or maker.
inline std::optional<Carry> own_carry(ir::Op const& op, ir::Value const& operand) {
  auto const carry = carry_of(operand);
  if (!carry || operand.owner_block() != op.parent() || operand.uses().size() != 1) return std::nullopt;
  auto const& uses = op.result()->uses();
  return uses.size() == 1 && uses[0] == carry->loop.yield_use(carry->number) ? carry : std::nullopt;
}

/// Removes result i of an if with the values that both blocks yield for it. The result must be unused.
inline void remove_branch_result(ir::Op& branch, int i) {
  branch.block(0).back().erase_operand(i);
  branch.block(1).back().erase_operand(i);
  branch.erase_result(i);
}

}  // namespace tegula::transform

// Finds the operand beside a given one.
#pragma once

#include <cstdint>
#include <optional>

#include "ir/core/builder.hpp"
#include "ir/core/op.hpp"

namespace tegula::ir {

/// Returns the operand beside `side`: rhs for lhs, and lhs for rhs.
inline Value* other_operand(Op const& op, Value const& side) { return op.lhs() == &side ? op.rhs() : op.lhs(); }

/// Reads a sum of the number of this warp's warpgroup, `warp_index >> 2`, and a constant: returns the constant.
inline std::optional<std::int64_t> constant_beside_warpgroup(Value const& sum) {
  Op const* const add = sum.defined_by<AddOp>();
  if (add == nullptr) return std::nullopt;
  for (Value const* side : {add->lhs(), add->rhs()}) {
    Op const* const group = side->defined_by<ShrOp>();
    if (group != nullptr && group->lhs()->defined_by<WarpIndexOp>() != nullptr && constant_int(*group->rhs()) == 2)
      return constant_int(*other_operand(*add, *side));
  }
  return std::nullopt;
}

}  // namespace tegula::ir

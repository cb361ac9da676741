// Answers questions about an op's memory accesses from the effects in its record and the names of its operands.
#pragma once

#include "ir/op.hpp"

namespace tegula::ir {

/// Tells whether the op's shared memory is that of another CTA of the cluster, which its operand `rank` names.
bool at_peer(Op const& op);
/// Gives the tensor behind an operand that an op accesses: the operand, or the one of its map.
Value const& tensor_of(Value const& operand);
/// Gives the registers that an access of the op fills or empties; null: it moves none.
Value const* registers_of(Op const& op, Effect const& effect);
/// Gives the view in shared memory that the op accesses, or the buffer that it fetches; null: there is none.
Value const* view_of(Op const& op);
/// True for an op with an access through the async proxy.
bool is_asynchronous(Op const& op);
/// Tells whether a buffer holds logs alone, which are not accessed by elements.
bool holds_log(Value const& buffer);

}  // namespace tegula::ir

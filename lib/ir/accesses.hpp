// Answers questions about an op's memory accesses from the effects in its record and the names of its operands.
#pragma once

#include "ir/op.hpp"

namespace tegula::ir {

/// Tells whether the op's shared memory is that of another CTA of the cluster, which its operand `rank` names.
bool at_peer(Op const& op);
/// Gives the tensor behind an operand that an op accesses: the operand, or the one of its map.
Value const& tensor_of(Value const& operand);
/// Gives the parameter that a tensor is, or is a slice of: the memory that it names.
Value const& parameter_behind(Value const& tensor);
/// Gives the attributes of the parameter that a tensor is, in its function. Those of a slice are the parameter's, with
/// the facts that hold of the slice.
ParameterAttributes parameter_of(Value const& tensor);
/// Gives the op that states box and swizzle of a map: itself, or the one by value from which it is built. Null:
/// unknown.
Op const* tensor_map_of(Value const& map);
/// Gives the registers that an access of the op fills or empties; null: it moves none.
Value const* registers_of(Op const& op, Effect const& effect);
/// Gives the view in shared memory that the op accesses, or the buffer that it fetches; null: there is none.
Value const* view_of(Op const& op);
/// True for an op with an access through the async proxy.
bool is_asynchronous(Op const& op);
/// Tells whether a buffer holds logs alone, which are not accessed by elements.
bool holds_log(Value const& buffer);

}  // namespace tegula::ir

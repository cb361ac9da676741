// Answers questions about an op's memory accesses from the effects in its record and the names of its operands.
#pragma once

#include "ir/core/op.hpp"

namespace tegula::ir {

/// Tells whether the op's shared memory is that of another CTA of the cluster, which its operand `rank` names.
bool at_peer(Op const& op);
/// Returns the tensor behind an operand that an op accesses: the operand, or the one of its map.
Value const& tensor_of(Value const& operand);
/// Returns the op that makes a tensor a view of another one, its operand `tensor`: a slice or a permutation. Null: it
/// is a parameter.
Op* view_op(Value const& tensor);
/// True for an op that makes a view of a tensor.
inline bool is_view_op(Op const& op) { return op.result_count() == 1 && op.result()->type().is_tensor(); }
/// Returns the parameter that a tensor is, or is a view of: the memory that it names.
Value const& parameter_behind(Value const& tensor);
/// Returns the tensor that the host describes where `tensor` is a slice: the parameter, or a permutation of it.
Value const& unsliced(Value const& tensor);
/// Returns the axis of the viewed tensor that an axis of a view is.
int viewed_axis(Op const& view, int axis);
/// Lists the axes of the parameter that those of a tensor are; empty: they have its order.
Extents axes_of_parameter(Value const& tensor);
/// Returns the attributes of the parameter that a tensor is, in its function. Those of a view are the parameter's, with
/// the facts that hold of the view.
ParameterAttributes parameter_of(Value const& tensor);
/// Returns a number that the extent of a tensor's axis is known to be a multiple of; a negative axis counts from the
/// last.
std::int64_t multiple_of_extent(Value const& tensor, int axis);
/// Returns the op that states box and swizzle of a map: itself, or the one by value from which it is built. Null:
/// unknown.
Op const* tensor_map_of(Value const& map);
/// Returns the extents that a copy through a tensor map takes along each axis of its tensor.
Extents copied_box(Op const& copy);
/// Returns the registers that an access of the op fills or empties; null: it moves none.
Value const* registers_of(Op const& op, Effect const& effect);
/// Returns the view in shared memory that the op accesses, or the buffer that it fetches; null: there is none.
Value const* view_of(Op const& op);
/// True for an op with an access through the async proxy.
bool is_asynchronous(Op const& op);
/// Tells whether a buffer holds logs alone, which are not accessed by elements.
bool holds_log(Value const& buffer);

}  // namespace tegula::ir

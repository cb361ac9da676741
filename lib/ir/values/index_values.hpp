// Tells which integers are indices, and which are data that a kernel computes with.
#pragma once

#include <set>
#include <vector>

#include "ir/core/op.hpp"

namespace tegula::ir {

/// Lists the i32 and i64 operands of an op that are places: offsets and indices of accesses and views, bounds of slices
/// and loops, extents of grids.
std::vector<Value*> place_operands(Op const& op);

/// Finds the i32 and i64 scalars and tiles from which places follow: offsets and indices of accesses and views, bounds
/// of slices and loops, extents of grids. Follows them back through calls, branches and carried values of loops, in the
/// function and all others of its module. Numbers that choose a branch or an element of a select alone are not among
/// them.
std::set<Value const*> index_values(Function const& function);

}  // namespace tegula::ir

// Tells which integers are indices, and which are data that a kernel computes with.
#pragma once

#include <set>

#include "ir/op.hpp"

namespace tegula::ir {

/// Finds the i32 and i64 scalars and tiles from which places follow: offsets and indices of accesses and views, bounds
/// of slices and loops, extents of grids, and both sides of comparisons in i64, which passes take for coordinates
/// (lib/doc/arithmetic.md). Follows them back through calls, branches and carried values of loops, in the function and
/// all others of its module. What is left is data.
std::set<Value const*> index_values(Function const& function);

}  // namespace tegula::ir

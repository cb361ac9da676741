// Tells which steps of loops are known to be positive. No executor runs a loop whose step is 0 or less; the simulator
// reports it.
#pragma once

#include "ir/core/op.hpp"

namespace tegula::ir {

/// True when the loop's step is at least 1 in every launch. It is one of:
/// - a positive constant, an extent of the grid, or the number of multiprocessors;
/// - a maximum with one of these;
/// - a value that a `require` of the kernel compares with such a bound.
bool has_positive_step(Op const& loop);

}  // namespace tegula::ir

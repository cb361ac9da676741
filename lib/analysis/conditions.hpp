// Relates the conditions under which ifs take their then block and fors have iterations.
#pragma once

#include "analysis/affine.hpp"
#include "ir/core/op.hpp"

namespace tegula::analysis {

/// Tells whether `control` enters its then block, or runs an iteration, only if `other` does.
bool implies(ir::Op const& control, ir::Op const& other, Affines& affines);
/// Tells whether it does so in each iteration of `loop`, which is around it, or in none.
bool keeps(ir::Op const& control, ir::Op const& loop);

}  // namespace tegula::analysis

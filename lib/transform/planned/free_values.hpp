// Finds values that cost the same in any layout, and computes them where they are used.
#pragma once

#include "ir/core/op.hpp"

namespace tegula::transform {

/// Tells whether an op costs the same in any layout: it is computed where it is used.
bool is_free(ir::Op const& op);

/// Gives each use of a free value a value of its own; a conversion of one is computed in the other layout at once.
void split_free_values(ir::Function& function);

}  // namespace tegula::transform

// Finds the sums that loops carry.
#pragma once

#include "ir/core/loop.hpp"

namespace tegula::analysis {

/// Tells whether a loop carries value k as a sum of its own, from zero, to which each iteration adds terms that follow
/// from results of products, `acc + dot(a, b) * scale`: nothing else reads it before the loop ends. So parts of the
/// loop may sum apart, and their totals be added.
bool adds_products(ir::Loop const& loop, int k);

}  // namespace tegula::analysis

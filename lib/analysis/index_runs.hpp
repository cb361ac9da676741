// Finds out how many adjacent elements of a tile an access at indices finds side by side in its tensor.
#pragma once

#include "analysis/axis_facts.hpp"

namespace tegula::analysis {

/// Returns the length of the runs in which a gather, a scatter or an atomic accesses adjacent elements: n, a power of
/// two. Each aligned group of n elements along the tile's last axis lies in n adjacent elements of the tensor's
/// innermost axis. They start at a multiple of n, or the group is masked as a whole. 1: no such groups are proven.
/// Whether a group crosses the tensor's border is left to the access.
std::int64_t index_run(ir::Op const& op, AxisFacts const& facts);

}  // namespace tegula::analysis

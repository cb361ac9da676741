// Recognises ops that move elements and compute nothing.
#pragma once

#include "ir/memory/source.hpp"

namespace tegula::transform {

/// True if an op repeats, adds or drops axes and keeps their order.
inline bool reshapes(ir::Op const& op) { return ir::relabels_tile(op) && ir::keeps_axis_order(op); }

}  // namespace tegula::transform

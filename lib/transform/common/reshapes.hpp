// Recognises ops that move elements and compute nothing.
#pragma once

#include "ir/op.hpp"

namespace tegula::transform {

/// True if an op repeats, adds or drops axes and keeps their order.
inline bool reshapes(ir::Op const& op) {
  return op.is<ir::BroadcastOp>() || op.is<ir::ExpandDimsOp>() || op.is<ir::SqueezeOp>();
}

}  // namespace tegula::transform

// Recognises the regions that fill stages of rings.
#pragma once

#include "ir/op.hpp"

namespace tegula::transform {

/// True if one lane of this region waits for a stage of a ring and copies into it: circular-buffer marks it.
inline bool fills(ir::Op const& op) { return op.is<ir::ElectOp>() && op.as<ir::ElectOp>().role == ir::Role::producer; }

}  // namespace tegula::transform

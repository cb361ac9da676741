// Recognises the regions that fill stages of rings.
#pragma once

#include "ir/core/op.hpp"

namespace tegula::transform {

/// Names the ring that a region fills, and counts the ring's stages.
struct FilledRing {
  std::int64_t ring = 0;
  std::int64_t stages = 0;
};

/// True if one lane of this region, or all threads (fill), wait for a stage of a ring and copy into it: circular-buffer
/// marks it.
inline bool fills(ir::Op const& op) {
  if (op.is<ir::FillOp>()) return op.as<ir::FillOp>().ring != 0;
  return op.is<ir::ElectOp>() && op.as<ir::ElectOp>().role == ir::Role::producer;
}

inline FilledRing filled_ring(ir::Op const& fill) {
  if (fill.is<ir::FillOp>()) return {fill.as<ir::FillOp>().ring, fill.as<ir::FillOp>().stages};
  return {fill.as<ir::ElectOp>().ring, fill.as<ir::ElectOp>().stages};
}

/// Takes the mark from a region that has its place.
inline void unmark(ir::Op& fill) {
  if (auto* const of_all = fill.dyn<ir::FillOp>()) {
    of_all->ring = of_all->stages = 0;
    return;
  }
  auto& marks = fill.as<ir::ElectOp>();
  marks.role = ir::Role::none;
  marks.ring = marks.stages = 0;
}

}  // namespace tegula::transform

// Tells which functions hold products on tensor cores or copies into shared memory, on any level.
#pragma once

#include "ir/core/families.hpp"
#include "ir/core/walk.hpp"

namespace tegula::ir {

/// Tells whether a function holds products, on any level, or loops whose loads are copies or become some.
inline bool has_products_or_copies(Function& function) {
  bool found = false;
  walk(function, [&](Op& op) {
    found = found || op.is(Family::product) || op.is<FetchOp>() || copies_in(op);
    if (!op.is<ForOp>()) return;
    auto const& loop = op.as<ForOp>();
    found = found || loop.stages > 0 || loop.tiles || !loop.by_lanes.empty();
  });
  return found;
}

}  // namespace tegula::ir

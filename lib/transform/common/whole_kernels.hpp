// Tells which kernels passes rewrite as a whole, so that no call may be left in them.
#pragma once

#include <algorithm>

#include "ir/core/families.hpp"
#include "ir/core/walk.hpp"
#include "tegula/abi/compile_options.hpp"

namespace tegula::transform {

/// Tells whether a function holds products, on any level, or loops whose loads are copies or become some. Passes split
/// these loops, skew them and assign them to warps; a call would hide reads and releases.
inline bool has_products_or_copies(ir::Function& function) {
  bool found = false;
  ir::walk(function, [&](ir::Op& op) {
    found = found || op.is(ir::Family::product) || op.is<ir::FetchOp>() || ir::copies_in(op);
    if (!op.is<ir::ForOp>()) return;
    auto const& loop = op.as<ir::ForOp>();
    found = found || loop.stages > 0 || loop.tiles || !loop.by_lanes.empty();
  });
  return found;
}

inline bool has_products_or_copies(ir::Module const& module) {
  return std::any_of(module.functions().begin(), module.functions().end(),
                     [](auto const& function) { return has_products_or_copies(*function); });
}

}  // namespace tegula::transform

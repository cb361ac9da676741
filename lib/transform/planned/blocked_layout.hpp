// Chooses the blocked layout of a tile: which elements each thread of a CTA holds.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/core/op.hpp"
#include "layout/layout.hpp"

namespace tegula::transform {

/// Says that a thread holds squares of adjacent elements along the last axis and another one.
struct Square {
  int axis = -1;
  std::int64_t side = 1;
  std::int64_t min = 1;  ///< where a thread does not hold enough elements for the whole side
};

/// States the purpose of a blocked layout.
struct BlockedRequest {
  std::vector<std::int64_t> reduced = {};    ///< axes along which reductions have a plan in the layout
  ir::Order order_of_sums = ir::Order::any;  ///< of these reductions
  int run = -1;                              ///< the axis of a thread's adjacent elements; -1: the last
  std::int64_t width = 4;                    ///< adjacent elements of a thread, fewer if it holds fewer
  Square square = {};
};

/// Returns the blocked layout of a tile for a CTA of `warps` warps of `lanes` threads. A thread holds adjacent elements
/// as requested; lanes spread along the last axes, warps along axes that nothing reduces.
layout::Layout const* blocked_layout(ir::Type const& type, BlockedRequest const& request, int lanes, int warps);

}  // namespace tegula::transform

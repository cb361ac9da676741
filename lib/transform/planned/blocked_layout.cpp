#include "transform/planned/blocked_layout.hpp"

#include <algorithm>
#include <numeric>

namespace tegula::transform {
namespace {

std::int64_t power_of_two_part(std::int64_t value) { return value & -value; }

Extents ones(int rank) {
  Extents result;
  for (int axis = 0; axis < rank; ++axis) result.push_back(1);
  return result;
}

/// Returns the elements that a thread holds side by side along each axis.
Extents elements_of_thread(ir::Type const& type, BlockedRequest const& request, std::int64_t threads) {
  int const run = request.run < 0 ? type.rank() - 1 : request.run;
  Square const& square = request.square;
  std::int64_t width = std::clamp<std::int64_t>(request.width, 1, power_of_two_part(type.shape()[run]));
  std::int64_t const of_thread = std::max<std::int64_t>(type.elements() / threads, 1);
  std::int64_t side = 1;
  if (square.axis >= 0) {  // a side of two is enough for words, and worth more than the width of an access
    side = std::min(square.side, power_of_two_part(type.shape()[square.axis]));
    while (side > square.min && side * width > of_thread) side /= 2;
  }
  while (width > 1 && width * side > of_thread) width /= 2;
  if (side * width > of_thread) side = 1;
  Extents result = ones(type.rank());
  result[run] = width;
  if (square.axis >= 0) result[square.axis] = side;
  return result;
}

/// Counts how many times more threads an axis can be spread over, once `taken` elements of it are.
std::int64_t room(ir::Type const& type, int axis, std::int64_t taken) {
  return std::max<std::int64_t>(power_of_two_part(type.shape()[axis]) / taken, 1);
}

/// Returns the lanes along each axis, the last axes first. Lanes that find no axis hold copies.
Extents lanes_along(ir::Type const& type, Extents const& per_thread, std::int64_t lanes) {
  Extents result = ones(type.rank());
  for (int axis = type.rank() - 1; axis >= 0; --axis) {
    result[axis] = std::min(room(type, axis, per_thread[axis]), lanes);
    lanes /= result[axis];
  }
  result[0] *= lanes;
  return result;
}

struct Warps {
  Extents along;            ///< each axis
  std::int64_t copies = 1;  ///< groups of warps that hold the same elements
};

/// Spreads warps along axes that nothing reduces, the slowest first; then along the others. An odd number of groups
/// takes parts of axes that nothing reduces: 15 groups fifths of one and thirds of another. If no such axis has any,
/// they take parts of the slowest axis if it has them; else they hold copies. Pairs do not reach across thirds.
Warps spread_warps(ir::Type const& type, BlockedRequest const& request, Extents const& taken, std::int64_t warps) {
  std::int64_t left = power_of_two_part(warps);
  std::int64_t const all_groups = warps / left;
  std::int64_t groups = all_groups;  // that take no part yet
  Warps result{ones(type.rank())};
  for (bool now_reduced : {false, true})
    for (int axis = 0; axis < type.rank(); ++axis) {
      bool const is_reduced = std::find(request.reduced.begin(), request.reduced.end(), axis) != request.reduced.end();
      if (is_reduced != now_reduced) continue;
      std::int64_t const here = std::min(room(type, axis, taken[axis]), left);
      result.along[axis] *= here;
      left /= here;
      if (is_reduced) continue;
      std::int64_t const parts = std::gcd(type.shape()[axis], groups);
      result.along[axis] *= parts;
      groups /= parts;
    }
  result.along[0] *= left;
  result.copies = groups;
  if (request.order_of_sums != ir::Order::pairwise && groups == all_groups) {
    result.along[0] *= groups;
    result.copies = 1;
  }
  return result;
}

}  // namespace

layout::Layout const* blocked_layout(ir::Type const& type, BlockedRequest const& request, int lanes, int warps) {
  int const rank = type.rank();
  if (rank == 0) return layout::Layout::blocked({}, {}, warps, {});
  Extents const per_thread = elements_of_thread(type, request, std::int64_t{lanes} * warps);
  Extents const of_warp = lanes_along(type, per_thread, lanes);
  Extents taken = per_thread, order;
  for (int axis = 0; axis < rank; ++axis) {
    taken[axis] *= of_warp[axis];
    order.push_back(rank - 1 - axis);
  }
  Warps const spread = spread_warps(type, request, taken, warps);
  return layout::Layout::blocked(type.shape(), per_thread, of_warp, spread.along, order, spread.copies);
}

}  // namespace tegula::transform

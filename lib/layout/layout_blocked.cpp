// Makes layouts that instructions do not require: blocked register tiles and dense tiles in memory.
#include <algorithm>

#include "layout/layout.hpp"
#include "layout/layout_detail.hpp"
#include "tegula/support/warp.hpp"

namespace tegula::layout {
using detail::power_of_two_part;
using detail::zeros;

Layout const* Layout::blocked(Extents const& shape, Extents const& size_per_thread, Extents const& lanes,
                              Extents const& warps, Extents const& order, std::int64_t copies) {
  int const rank = shape.size();
  Extents covered;
  for (int a = 0; a < rank; ++a) covered.push_back(1);
  auto const place = [&](std::vector<Extents>& bases, int axis, std::int64_t count) {
    for (; count > 1; count /= 2) {
      Extents basis = zeros(rank);
      if (covered[axis] < power_of_two_part(shape[axis])) {
        basis[axis] = covered[axis];
        covered[axis] *= 2;
      }
      bases.push_back(basis);
    }
  };
  LayoutInput reg{Dim::reg, {}, {}}, lane{Dim::lane, {}, {}}, warp{Dim::warp, {}, {}};
  for (std::int64_t a : order) place(reg.bases, static_cast<int>(a), size_per_thread[static_cast<int>(a)]);
  for (std::int64_t a : order) place(lane.bases, static_cast<int>(a), lanes[static_cast<int>(a)]);
  for (std::int64_t a : order) place(warp.bases, static_cast<int>(a), power_of_two_part(warps[static_cast<int>(a)]));
  for (std::int64_t a : order) {
    int const axis = static_cast<int>(a);
    place(reg.bases, axis, power_of_two_part(shape[axis]) / covered[axis]);
  }
  for (std::int64_t a : order) {
    int const axis = static_cast<int>(a);
    std::int64_t const groups = warps[axis] / power_of_two_part(warps[axis]);
    Extents stride = zeros(rank);
    if (shape[axis] / covered[axis] % groups == 0) {
      stride[axis] = covered[axis];
      covered[axis] *= groups;
    }
    warp.digits.push_back({groups, stride});
    stride[axis] = covered[axis];
    reg.digits.push_back({shape[axis] / covered[axis], stride});
  }
  warp.digits.push_back({copies, zeros(rank)});
  return get({reg, lane, warp}, rank);
}

Layout const* Layout::blocked(Extents const& shape, Extents const& size_per_thread, int warps, Extents const& order) {
  Extents lanes, warps_along;
  for (int a = 0; a < shape.size(); ++a) {
    lanes.push_back(1);
    warps_along.push_back(1);
  }
  std::int64_t left_lanes = warp_lanes, left_warps = power_of_two_part(warps);
  std::int64_t const groups = warps / left_warps;
  for (std::int64_t a : order) {
    int const axis = static_cast<int>(a);
    std::int64_t room = power_of_two_part(shape[axis]) / size_per_thread[axis];
    lanes[axis] = std::min(room, left_lanes);
    left_lanes /= lanes[axis];
    room /= lanes[axis];
    warps_along[axis] = std::min(room, left_warps);
    left_warps /= warps_along[axis];
  }
  Layout const* layout = nullptr;
  if (shape.size() > 0) {
    int const last = static_cast<int>(order.back());
    lanes[last] *= left_lanes;
    warps_along[last] *= left_warps * groups;
    layout = blocked(shape, size_per_thread, lanes, warps_along, order);
  } else {
    LayoutInput lane{Dim::lane, std::vector<Extents>(5), {}}, warp{Dim::warp, {}, {{groups, {}}}};
    for (; left_warps > 1; left_warps /= 2) warp.bases.emplace_back();
    layout = get({lane, warp}, 0);
  }
  return layout;
}

Layout const* Layout::runs(std::int64_t extent, int warps) {
  LayoutInput reg{Dim::reg, {}, {}}, lane{Dim::lane, {}, {}}, warp{Dim::warp, {}, {}};
  std::int64_t const whole = power_of_two_part(extent);
  std::int64_t covered = 1;
  auto const place = [&](LayoutInput& input, std::int64_t count, std::int64_t to) {
    for (; count > 1; count /= 2) {
      input.bases.push_back({covered < to ? covered : 0});
      if (covered < to) covered *= 2;
    }
  };
  std::int64_t const of_warps = power_of_two_part(warps);
  place(lane, warp_lanes, whole);
  std::int64_t const runs = extent == whole ? std::min(of_warps, whole / covered) : 1;
  place(reg, whole / covered / runs, whole);
  place(warp, of_warps, whole);
  reg.digits.push_back({extent / whole, {whole}});
  warp.digits.push_back({warps / of_warps, {0}});
  return get({reg, lane, warp}, 1);
}

Layout const* Layout::dense(Extents const& shape, Extents const& order) {
  LayoutInput offset{Dim::offset, {}, {}};
  for (std::int64_t a : order) {
    Extents stride = zeros(shape.size());
    stride[static_cast<int>(a)] = 1;
    offset.digits.push_back({shape[static_cast<int>(a)], stride});
  }
  return get({offset}, shape.size());
}

}  // namespace tegula::layout

#include "sim/block/shared_view.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tegula/support/error.hpp"

namespace tegula::sim::block {

using machine::LaneBytes;

SharedMap::SharedMap(layout::Layout const& layout) : shape_(layout.shape()) {
  layout::Layout const* const inverse = layout.inverse();
  if (inverse == nullptr || inverse->rank() > 1)
    throw UserError("simulate: the shared layout " + layout.text() + " does not place every element once");
  low_ = inverse->rank() == 0 ? 0 : static_cast<std::uint32_t>(inverse->atom()[0]) - 1;
  for (int axis = 0; axis < layout.rank(); ++axis) {
    std::vector<std::uint32_t>& table = tables_.emplace_back();
    for (std::int64_t i = 0; i < shape_[axis]; ++i) {
      Extents const offset = inverse->part(layout::axis_dim(axis), i);
      table.push_back(offset.empty() ? 0 : static_cast<std::uint32_t>(offset[0]));
    }
  }
}

View View::box(Extents const& offsets, Extents const& box_shape) const {
  View result = *this;
  int const drop = shape.size() - box_shape.size();
  for (int axis = 0; axis < shape.size(); ++axis) {
    std::int64_t const extent = axis < drop ? 1 : box_shape[axis - drop];
    if (offsets[axis] < 0 || offsets[axis] + extent > shape[axis])
      throw UserError(fmt::format("simulate: a view of {} elements at offset {} along axis {} leaves its source of {}",
                                  extent, offsets[axis], axis, shape[axis]));
    result.origin[static_cast<int>(axes[axis])] += offsets[axis];
  }
  result.axes = {};
  for (int axis = drop; axis < shape.size(); ++axis) result.axes.push_back(axes[axis]);
  result.shape = box_shape;
  return result;
}

View View::transposed() const {
  View result = *this;
  int const last = shape.size() - 1;
  std::swap(result.axes[last - 1], result.axes[last]);
  std::swap(result.shape[last - 1], result.shape[last]);
  return result;
}

std::uint32_t View::address(Extents const& at) const {
  Extents place = origin;
  for (int axis = 0; axis < at.size(); ++axis) place[static_cast<int>(axes[axis])] += at[axis];
  std::uint32_t offset = 0;
  for (int axis = 0; axis < place.size(); ++axis) offset = map->join(offset, map->part(axis, place[axis]));
  return base + offset * static_cast<std::uint32_t>(element_bytes);
}

std::vector<LaneBytes> intervals_of(std::vector<std::uint32_t> addresses, std::uint32_t size) {
  if (!std::is_sorted(addresses.begin(), addresses.end())) {
    // Dense in few KiB: marks are cheaper than sorting.
    auto const [min, max] = std::minmax_element(addresses.begin(), addresses.end());
    std::uint32_t const first = *min;
    std::vector<bool> marks(*max - first + 1);
    for (std::uint32_t const address : addresses) marks[address - first] = true;
    addresses.clear();
    for (std::size_t i = 0; i < marks.size(); i += 1)
      if (marks[i]) addresses.push_back(first + static_cast<std::uint32_t>(i));
  }
  std::vector<LaneBytes> result;
  for (std::uint32_t const address : addresses) {
    if (!result.empty() && result.back().end == address)
      result.back().end = address + size;
    else if (result.empty() || result.back().begin != address)
      result.push_back({address, address + size, machine::every_lane});
  }
  return result;
}

bool operator<(RegionKey const& a, RegionKey const& b) {
  if (a.map != b.map) return std::less<>()(a.map, b.map);
  if (a.base != b.base) return a.base < b.base;
  if (a.element_bytes != b.element_bytes) return a.element_bytes < b.element_bytes;
  for (auto const member : {&RegionKey::origin, &RegionKey::axes, &RegionKey::shape}) {
    Extents const &x = a.*member, &y = b.*member;
    if (x == y) continue;
    return std::lexicographical_compare(x.begin(), x.end(), y.begin(), y.end());
  }
  return false;
}

SharedMap const& Regions::map(layout::Layout const& layout) {
  std::unique_ptr<SharedMap>& slot = maps_[&layout];
  if (!slot) slot = std::make_unique<SharedMap>(layout);
  return *slot;
}

Region const& Regions::get(View const& view) {
  std::unique_ptr<Region>& slot =
      regions_[{view.map, view.base, view.element_bytes, view.origin, view.axes, view.shape}];
  if (slot) return *slot;
  slot = std::make_unique<Region>();
  int const rank = view.shape.size();
  std::uint32_t fixed = 0;
  for (int axis = 0; axis < view.origin.size(); ++axis) {
    bool const walks = std::find(view.axes.begin(), view.axes.end(), axis) != view.axes.end();
    if (!walks) fixed = view.map->join(fixed, view.map->part(axis, view.origin[axis]));
  }
  std::int64_t at[max_rank] = {};
  std::int64_t const count = view.shape.product();
  slot->addresses.reserve(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    std::uint32_t offset = fixed;
    for (int axis = 0; axis < rank; ++axis) {
      auto const of = static_cast<int>(view.axes[axis]);
      offset = view.map->join(offset, view.map->part(of, view.origin[of] + at[axis]));
    }
    slot->addresses.push_back(view.base + offset * static_cast<std::uint32_t>(view.element_bytes));
    for (int axis = rank - 1; axis >= 0; --axis) {
      if (++at[axis] < view.shape[axis]) break;
      at[axis] = 0;
    }
  }
  slot->intervals = intervals_of(slot->addresses, static_cast<std::uint32_t>(view.element_bytes));
  return *slot;
}

std::vector<LaneBytes> const& Regions::rows(View const& view, std::span<std::int32_t const> rows, void const* key,
                                            int number) {
  Region const& region = get(view);
  std::unique_ptr<std::vector<LaneBytes>>& slot = rows_[{&region, key, number}];
  if (slot) return *slot;
  std::vector<std::uint32_t> addresses;
  std::int64_t const inner = view.shape.product() / view.shape[0];
  for (std::int32_t const row : rows) {
    auto const begin = region.addresses.begin() + row * inner;
    addresses.insert(addresses.end(), begin, begin + inner);
  }
  slot = std::make_unique<std::vector<LaneBytes>>(
      intervals_of(std::move(addresses), static_cast<std::uint32_t>(view.element_bytes)));
  return *slot;
}

}  // namespace tegula::sim::block

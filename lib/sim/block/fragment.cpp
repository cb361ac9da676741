#include "sim/block/fragment.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tegula/support/error.hpp"
#include "tegula/support/warp.hpp"

namespace tegula::sim::block {

Fragment const& Fragments::get(layout::Layout const& layout, int warp) {
  std::unique_ptr<Fragment>& slot = fragments_[{&layout, warp}];
  if (slot) return *slot;
  slot = std::make_unique<Fragment>();
  Fragment& result = *slot;
  result.layout = &layout;
  result.registers = layout.registers();
  result.rank = layout.rank();
  result.shape = layout.shape();
  auto const count = static_cast<std::size_t>(result.count());
  result.coordinates.reserve(count * static_cast<std::size_t>(result.rank));
  result.linear.reserve(count);
  result.owner.reserve(count);
  result.holder.assign(static_cast<std::size_t>(result.shape.product()), -1);
  std::vector<Extents> registers;
  for (int r = 0; r < result.registers; ++r) registers.push_back(layout.part(layout::Dim::reg, r));
  for (int lane = 0; lane < warp_lanes; ++lane) {
    Extents const thread = layout.join(layout.part(layout::Dim::lane, lane), layout.part(layout::Dim::warp, warp));
    for (int r = 0; r < result.registers; ++r) {
      Extents const at = layout.join(thread, registers[static_cast<std::size_t>(r)]);
      std::int64_t linear = 0;
      for (int axis = 0; axis < result.rank; ++axis) {
        result.coordinates.push_back(static_cast<std::int32_t>(at[axis]));
        linear = linear * result.shape[axis] + at[axis];
      }
      bool const owner = layout.owner(r, lane, warp);
      std::int32_t& holder = result.holder[static_cast<std::size_t>(linear)];
      if (holder < 0 || (owner && result.owner[static_cast<std::size_t>(holder)] == 0))
        holder = static_cast<std::int32_t>(result.linear.size());
      result.linear.push_back(static_cast<std::int32_t>(linear));
      result.owner.push_back(owner ? 1 : 0);
    }
  }
  return result;
}

MatrixPart matrix_part(Fragment const& fragment) {
  if (fragment.rank != 2) throw InternalError(fmt::format("simulate: a matrix of rank {}", fragment.rank));
  MatrixPart part;
  auto const position = [](std::vector<std::int32_t>& known, std::int32_t value) {
    auto const at = std::lower_bound(known.begin(), known.end(), value);
    return static_cast<std::int32_t>(at - known.begin());
  };
  auto const distinct = [&](int axis) {
    std::vector<std::int32_t> values;
    for (int i = 0; i < fragment.count(); ++i) values.push_back(fragment.at(i)[axis]);
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
    return values;
  };
  part.rows = distinct(0);
  part.columns = distinct(1);
  part.from.assign(part.rows.size() * part.columns.size(), -1);
  for (int i = 0; i < fragment.count(); ++i) {
    std::int32_t const place = position(part.rows, fragment.at(i)[0]) * static_cast<std::int32_t>(part.columns.size()) +
                               position(part.columns, fragment.at(i)[1]);
    part.place.push_back(place);
    std::int32_t& from = part.from[static_cast<std::size_t>(place)];
    if (from < 0) from = i;
  }
  return part;
}

}  // namespace tegula::sim::block

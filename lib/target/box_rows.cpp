#include "target/box_rows.hpp"

#include "tegula/target/tma_rules.hpp"

namespace tegula::target {

Extents tile_of_box(Extents const& box) { return {box.product() / box.back(), box.back()}; }

Extents stated_rows(Extents const& box) {
  Extents result = tile_of_box(box);
  while (result.size() < box.size()) result.insert(0, 1);
  return result;
}

std::optional<Extents> box_of_rows(Extents const& box, std::int64_t rows) {
  Extents result = box;
  for (int axis = box.size() - 2; axis >= 0; --axis) {
    if (rows % box[axis] == 0) {
      rows /= box[axis];
    } else if (box[axis] % rows == 0) {
      result[axis] = rows;
      rows = 1;
    } else {
      return std::nullopt;
    }
    if (result[axis] > tma_rule::max_box_extent) return std::nullopt;
  }
  return rows == 1 ? std::optional(result) : std::nullopt;
}

}  // namespace tegula::target

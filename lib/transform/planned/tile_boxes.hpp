// Finds the boxes of which tiles are taken apart and put together, also behind changes of shape.
#pragma once

#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "ir/core/op.hpp"

namespace tegula::transform {

/// Finds boxes of the tiles of groups, whose tiles have one layout: a thread that has its part of each box of a tile
/// takes it apart and puts it together without an exchange.
class TileBoxes {
 public:
  using Values = std::vector<ir::Value*>;
  /// `group_of` returns the tiles that share a tile's layout.
  explicit TileBoxes(std::function<Values const&(ir::Value const&)> group_of) : group_of_(std::move(group_of)) {}

  /// Returns the largest box, one that divides the tile, of which the ops around a group take or make whole ones; the
  /// tile's own shape where none does.
  Extents of(ir::Value const& tile);

 private:
  /// Follows the ops that use a group's tiles, or those that make them.
  enum class Way : std::uint8_t { uses, sources };
  Extents of(ir::Value const& tile, Way way);  // it is the same for all tiles of a group
  void add_uses(ir::Value const& tile, Extents& box);
  void add_source(ir::Value const& tile, Extents& box);

  std::function<Values const&(ir::Value const&)> group_of_;
  /// Boxes that are known; a group that is looked at counts as whole, for loops carry tiles around.
  std::map<std::pair<Values const*, Way>, Extents> known_;
};

/// Returns the box of shape `to` that holds the same runs of elements as `box` of shape `from`, in row-major order:
/// where an axis is parted or joined, runs that both have. `box` divides `from`, and the result `to`.
Extents box_in_shape(Extents const& box, Extents const& from, Extents const& to);

}  // namespace tegula::transform

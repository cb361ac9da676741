// Sees the axes of a box but the last as the rows of a tile of two axes, one after the other. TMA copies a box in this
// order, so one copy moves such a tile.
#pragma once

#include <cstdint>
#include <optional>

#include "tegula/support/extents.hpp"

namespace tegula::target {

/// Returns the tile of a box of two axes or more: {128, 64} for {1, 8, 16, 64}.
Extents tile_of_box(Extents const& box);

/// Returns the tile with an axis of extent 1 for each further axis of the box: {1, 1, 128, 64}. A tensor map that
/// states this shape copies its box as a tile of rows.
Extents stated_rows(Extents const& box);

/// Returns the box of so many rows of a box's tile that begin at a multiple of that number: {1, 1, 4, 16, 64} for 64
/// rows of {2, 3, 8, 16, 64}. Axes in front of the divided one have extent 1, those after it are whole. Nothing: such
/// rows are not a box, or larger than TMA takes.
std::optional<Extents> box_of_rows(Extents const& box, std::int64_t rows);

}  // namespace tegula::target

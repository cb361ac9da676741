// Finds the layouts and registers of parts of a tile: of a fold along an axis, of a slice.
#pragma once

#include <vector>

#include "layout/layout.hpp"

namespace tegula::layout {

/// Returns the layout that a fold along `axis` leaves. Registers no longer move along it; the lane bits that do count
/// 1, 2, 4, ... there, lowest first. Null when warps move along the axis, or a lane bit moves along it and another one
/// at once.
Layout const* folded(Layout const& layout, int axis);

/// Returns the layout of the box of that shape at these offsets, of which each thread keeps its registers. Null when a
/// thread would hold elements of the box that another one does not hold at the same place of its part.
Layout const* part_of(Layout const& whole, Extents const& shape, Extents const& offsets);

/// Returns the layout that all parts of that shape have, which follow each other along one axis of a tile. Null: they
/// differ, or one of them has none.
Layout const* layout_of_parts(Layout const& layout, Extents const& tile, Extents const& part, int axis);

/// Finds, for each register of `part`, the register of `whole` that holds, in the same thread, the element at the
/// part's coordinates plus `offsets`. Empty when some element lies in another thread.
std::vector<int> registers_of_part(Layout const& whole, Layout const& part, Extents const& offsets);

}  // namespace tegula::layout

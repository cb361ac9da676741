// Finds the layouts and registers of parts of a tile: of a fold along an axis, of a slice.
#pragma once

#include <vector>

#include "layout/layout.hpp"

namespace tegula::layout {

/// Gives the layout that a fold along `axis` leaves: registers no longer move along it, and the lane bits that do count
/// 1, 2, 4, ... there, lowest first. Null when warps move along the axis, or a lane bit moves along it and another one
/// at once.
Layout const* folded(Layout const& layout, int axis);

/// Finds, for each register of `part`, the register of `whole` that holds, in the same thread, the element at the
/// part's coordinates plus `offsets`. Empty when some element lies in another thread.
std::vector<int> registers_of_part(Layout const& whole, Layout const& part, Extents const& offsets);

}  // namespace tegula::layout

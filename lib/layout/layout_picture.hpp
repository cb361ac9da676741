// Draws layouts for people; Layout::picture shows the holder of each element.
#pragma once

#include <string>

#include "layout/layout.hpp"

namespace tegula::layout {

/// Draws each element of a shared tile, as a grid of `offset:bank`, offset in elements. Adjacent neighbours, up to 16
/// bytes, share a cell, which shows the first. One grid per index of the leading axes.
std::string shared_picture(Layout const& memory, int element_bytes);

}  // namespace tegula::layout

// Pictures of layouts for people; Layout::picture shows who holds each element.
#pragma once

#include <string>

#include "layout/layout.hpp"

namespace tegula::layout {

/// Where each element of a shared tile lies, as a grid of `offset:bank`, offset in elements. Neighbours that lie one
/// after the other, up to 16 bytes, share a cell, which shows the first. One grid per index of the leading axes.
std::string shared_picture(Layout const& memory, int element_bytes);

}  // namespace tegula::layout

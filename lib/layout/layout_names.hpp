// Names layouts in the text of the IR, instead of listing their basis vectors.
//
//   registers   wgmma  wgmma_a  wgmma(8)  mma  mma_a  mma_b  mma(8)  mma(2,4)     fragment_layouts.hpp
//               rows(wgmma)  columns(mma(2,2))                                     one value per row or column of one
//               folded(wgmma)                                                      result of a fold along its columns
//   shared      dense  dense_t  swizzled(128)  swizzled_t(64)                              shared_layouts.hpp
//
// One number is warps, 4 when left out; two are the warps along rows and columns. A name is that of a tile of the
// type's own shape. ` of 4x128x64` after it names it for another shape, as views of a part of a tile have. Every other
// layout is written as Layout::text().
#pragma once

#include <string>
#include <string_view>

#include "layout/layout.hpp"
#include "tegula/support/element.hpp"

namespace tegula::layout {

/// Finds the layout of that text for a tile of this shape; null with a message. Spaces around it are skipped.
Layout const* named_layout(std::string_view text, Extents const& shape, Element element, bool shared,
                           std::string& error);

/// Returns the text that named_layout reads back as the same layout: the first name that fits, else the basis vectors.
/// For 16-bit elements wgmma_a comes before wgmma, as they are one layout. Remembered, so cheap when asked again.
std::string layout_text(Layout const& layout, Extents const& shape, Element element, bool shared);

}  // namespace tegula::layout

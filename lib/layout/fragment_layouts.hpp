// Makes register layouts of the tensor-core instructions, for a whole tile of two axes. Each is null with a message
// when the extents do not divide. Fragments repeat along columns first, then along rows. So a product's accumulator is,
// register by register, the 16-bit A operand of the next one.
#pragma once

#include <string>

#include "layout/layout.hpp"

namespace tegula::layout {

/// Arranges warps along the rows (M) and columns (N) of a product; the warp index runs along the rows first.
struct WarpGrid {
  int rows = 4;
  int columns = 1;
  [[nodiscard]] int warps() const { return rows * columns; }
  friend bool operator==(WarpGrid const&, WarpGrid const&) = default;
};

/// Gives the accumulator of wgmma (M, N): 64 rows per warpgroup, over the `warps / 4` warpgroups first, further blocks
/// of 64 rows in registers, outermost. N is a multiple of 8. The same for 32-bit and 16-bit elements.
Layout const* wgmma_layout(Extents const& shape, int warps, std::string& error);
/// Gives the A operand of wgmma in registers (M, K), of elements of 1, 2 or 4 bytes; K is a multiple of 32 bytes.
Layout const* wgmma_a_layout(Extents const& shape, int element_bytes, int warps, std::string& error);

/// Gives C and D of mma.sync m16n8 (M, N): warps along rows are 16 rows apart, warps along columns take equal parts.
Layout const* mma_layout(Extents const& shape, WarpGrid grid, std::string& error);
/// Gives A of mma.sync (M, K), of elements of 1, 2, 4 or 8 bytes; the grid's columns hold copies.
Layout const* mma_a_layout(Extents const& shape, int element_bytes, WarpGrid grid, std::string& error);
/// Gives B of mma.sync (K, N), fragments along N first; the grid's rows hold copies.
Layout const* mma_b_layout(Extents const& shape, int element_bytes, WarpGrid grid, std::string& error);

}  // namespace tegula::layout

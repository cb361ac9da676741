// Makes register layouts of the tensor-core instructions, for a whole tile of two axes. Each is null with a message
// when the extents do not divide. Fragments repeat along columns first, then along rows. So a product's accumulator is,
// register by register, the 16-bit A operand of the next one.
#pragma once

#include <string>
#include <vector>

#include "layout/layout.hpp"

namespace tegula::layout {

/// Arranges warps along the rows (M) and columns (N) of a product; the warp index runs along the rows first, then along
/// the columns. Further warps hold copies: a small product is computed several times beside larger ones.
struct WarpGrid {
  int rows = 4;
  int columns = 1;
  int copies = 1;
  [[nodiscard]] int warps() const { return rows * columns * copies; }
  friend bool operator==(WarpGrid const&, WarpGrid const&) = default;
};

/// Lists the arrangements of so many warps: those without copies first, then those with few rows.
std::vector<WarpGrid> warp_grids(int warps);

/// Returns the accumulator of wgmma (M, N): 64 rows per warpgroup, over the `rows / 4` warpgroups of a column first,
/// further blocks of 64 rows in registers, outermost. Each column of warpgroups takes an equal part of N, a multiple of
/// 8. The same for 32-bit and 16-bit elements.
Layout const* wgmma_layout(Extents const& shape, WarpGrid grid, std::string& error);
Layout const* wgmma_layout(Extents const& shape, int warps, std::string& error);
/// Returns the A operand of wgmma in registers (M, K), of elements of 1, 2 or 4 bytes; K is a multiple of 32 bytes. The
/// grid's columns hold copies.
Layout const* wgmma_a_layout(Extents const& shape, int element_bytes, WarpGrid grid, std::string& error);
Layout const* wgmma_a_layout(Extents const& shape, int element_bytes, int warps, std::string& error);
/// Finds the arrangement of warps whose product of wgmma has this accumulator; no rows: none has.
WarpGrid wgmma_grid(Extents const& shape, Layout const* accumulator, int warps);

/// Returns C and D of mma.sync m16n8 (M, N): warps along rows are 16 rows apart, warps along columns take equal parts.
Layout const* mma_layout(Extents const& shape, WarpGrid grid, std::string& error);
/// Returns A of mma.sync (M, K), of elements of 1, 2, 4 or 8 bytes; the grid's columns hold copies. A sum does not ask
/// which K an instruction adds first, so both operands may give it other ones: with a `run` each lane has so many
/// adjacent elements of K, which instructions take in turn; 0: those that the ISA draws.
Layout const* mma_a_layout(Extents const& shape, int element_bytes, WarpGrid grid, std::string& error, int run = 0);
/// Finds the arrangement of warps whose product of mma.sync has this accumulator; no rows: none has.
WarpGrid mma_grid(Extents const& shape, Layout const* accumulator, int warps);
/// Returns B of mma.sync (K, N), fragments along N first; the grid's rows hold copies. A `run` is that of A.
Layout const* mma_b_layout(Extents const& shape, int element_bytes, WarpGrid grid, std::string& error, int run = 0);
/// Lists the runs that operands of this depth can have: 0, then from short to long.
std::vector<int> mma_runs(int element_bytes, std::int64_t depth);
/// Counts the instructions that take a run of each lane, one after another.
int steps_of_run(int element_bytes, int run);

}  // namespace tegula::layout

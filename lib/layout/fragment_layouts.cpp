#include "layout/fragment_layouts.hpp"

#include "layout/element_offsets.hpp"

namespace tegula::layout {
namespace {

// Lists the bits as the PTX ISA draws them; (row, column) of D, (row, k) of A, (k, column) of B.
struct Fragment {
  std::vector<Extents> registers;
  std::vector<Extents> lanes;
  Extents shape;
};

Fragment accumulator() { return {{{0, 1}, {8, 0}}, {{0, 2}, {0, 4}, {1, 0}, {2, 0}, {4, 0}}, {16, 8}}; }

Fragment operand_a(int element_bytes) {
  if (element_bytes == 1)
    return {{{0, 1}, {0, 2}, {8, 0}, {0, 16}}, {{0, 4}, {0, 8}, {1, 0}, {2, 0}, {4, 0}}, {16, 32}};
  if (element_bytes == 2) return {{{0, 1}, {8, 0}, {0, 8}}, {{0, 2}, {0, 4}, {1, 0}, {2, 0}, {4, 0}}, {16, 16}};
  if (element_bytes == 4) return {{{8, 0}, {0, 4}}, {{0, 1}, {0, 2}, {1, 0}, {2, 0}, {4, 0}}, {16, 8}};
  return {{{8, 0}}, {{0, 1}, {0, 2}, {1, 0}, {2, 0}, {4, 0}}, {16, 4}};
}

Fragment operand_b(int element_bytes) {
  if (element_bytes == 1) return {{{1, 0}, {2, 0}, {16, 0}}, {{4, 0}, {8, 0}, {0, 1}, {0, 2}, {0, 4}}, {32, 8}};
  if (element_bytes == 2) return {{{1, 0}, {8, 0}}, {{2, 0}, {4, 0}, {0, 1}, {0, 2}, {0, 4}}, {16, 8}};
  if (element_bytes == 4) return {{{4, 0}}, {{1, 0}, {2, 0}, {0, 1}, {0, 2}, {0, 4}}, {8, 8}};
  return {{}, {{1, 0}, {2, 0}, {0, 1}, {0, 2}, {0, 4}}, {4, 8}};
}

/// False with a message unless the tile has two axes that these atoms divide.
bool divides(std::string_view subject, Extents const& shape, std::int64_t rows, std::int64_t columns,
             std::string& error) {
  if (shape.size() != 2) {
    error = std::string(subject) + ": a tile of two axes is needed, found " + std::to_string(shape.size());
    return false;
  }
  if (shape[0] < 1 || shape[1] < 1 || shape[0] % rows != 0 || shape[1] % columns != 0) {
    error = std::string(subject) + ": " + shape_text(shape) + " is not a multiple of " + std::to_string(rows) + "x" +
            std::to_string(columns);
    return false;
  }
  return true;
}

bool known_element(std::string_view subject, int element_bytes, int max_bytes, std::string& error) {
  if (element_bytes == 1 || element_bytes == 2 || element_bytes == 4 || element_bytes == max_bytes) return true;
  error = std::string(subject) + ": elements of 1, 2" + std::string(max_bytes == 8 ? ", 4 or 8" : " or 4") +
          " bytes are needed, found " + std::to_string(element_bytes);
  return false;
}

LayoutDigit along(int axis, std::int64_t count, std::int64_t stride) {
  return {count, axis == 0 ? Extents{stride, 0} : Extents{0, stride}};
}

/// Lays out 16-row fragments: warps of a warpgroup 16 rows apart, warpgroups 64, columns and further rows in registers.
Layout const* by_rows(Fragment fragment, Extents const& shape, std::int64_t row_warps, LayoutDigit column_warps) {
  std::int64_t const columns = shape[1] / (column_warps.stride[1] != 0 ? column_warps.count : 1);
  std::int64_t const rows = fragment.shape[0] * row_warps;
  LayoutInput reg{Dim::reg,
                  std::move(fragment.registers),
                  {along(1, columns / fragment.shape[1], fragment.shape[1]), along(0, shape[0] / rows, rows)}};
  LayoutInput lane{Dim::lane, std::move(fragment.lanes), {}};
  LayoutInput warp{Dim::warp, {}, {along(0, row_warps, fragment.shape[0]), column_warps}};
  return Layout::get({reg, lane, warp}, 2);
}

bool known_warps(std::string_view subject, int warps, std::string& error) {
  if (warps >= 4 && warps % 4 == 0) return true;
  error = std::string(subject) + ": whole warpgroups of 4 warps are needed, found " + std::to_string(warps) + " warps";
  return false;
}

bool known_grid(std::string_view subject, WarpGrid grid, std::string& error) {
  if (grid.rows >= 1 && grid.columns >= 1 && grid.rows <= 64 && grid.columns <= 64) return true;
  error = std::string(subject) + ": a grid of 1 to 64 warps along rows and columns is needed, found " +
          std::to_string(grid.rows) + "x" + std::to_string(grid.columns);
  return false;
}

}  // namespace

Layout const* wgmma_layout(Extents const& shape, int warps, std::string& error) {
  if (!known_warps("wgmma", warps, error) || !divides("wgmma", shape, 16 * std::int64_t{warps}, 8, error))
    return nullptr;
  return by_rows(accumulator(), shape, warps, {1, {0, 0}});
}

Layout const* wgmma_a_layout(Extents const& shape, int element_bytes, int warps, std::string& error) {
  if (!known_element("wgmma_a", element_bytes, 4, error) || !known_warps("wgmma_a", warps, error) ||
      !divides("wgmma_a", shape, 16 * std::int64_t{warps}, 32 / element_bytes, error))
    return nullptr;
  return by_rows(operand_a(element_bytes), shape, warps, {1, {0, 0}});
}

Layout const* mma_layout(Extents const& shape, WarpGrid grid, std::string& error) {
  if (!known_grid("mma", grid, error) ||
      !divides("mma", shape, 16 * std::int64_t{grid.rows}, 8 * std::int64_t{grid.columns}, error))
    return nullptr;
  return by_rows(accumulator(), shape, grid.rows, along(1, grid.columns, shape[1] / grid.columns));
}

Layout const* mma_a_layout(Extents const& shape, int element_bytes, WarpGrid grid, std::string& error) {
  if (!known_element("mma_a", element_bytes, 8, error) || !known_grid("mma_a", grid, error) ||
      !divides("mma_a", shape, 16 * std::int64_t{grid.rows}, 32 / element_bytes, error))
    return nullptr;
  return by_rows(operand_a(element_bytes), shape, grid.rows, {grid.columns, {0, 0}});
}

Layout const* mma_b_layout(Extents const& shape, int element_bytes, WarpGrid grid, std::string& error) {
  if (!known_element("mma_b", element_bytes, 8, error) || !known_grid("mma_b", grid, error) ||
      !divides("mma_b", shape, 32 / element_bytes, 8 * std::int64_t{grid.columns}, error))
    return nullptr;
  Fragment fragment = operand_b(element_bytes);
  std::int64_t const columns = shape[1] / grid.columns;
  LayoutInput reg{Dim::reg,
                  std::move(fragment.registers),
                  {along(1, columns / fragment.shape[1], fragment.shape[1]),
                   along(0, shape[0] / fragment.shape[0], fragment.shape[0])}};
  LayoutInput lane{Dim::lane, std::move(fragment.lanes), {}};
  LayoutInput warp{Dim::warp, {}, {{grid.rows, {0, 0}}, along(1, grid.columns, columns)}};
  return Layout::get({reg, lane, warp}, 2);
}

}  // namespace tegula::layout

#include "layout/fragment_layouts.hpp"

#include <fmt/format.h>

#include <algorithm>

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

/// Counts the lanes of a row of A, and of a column of B: they share K.
constexpr std::int64_t lanes_of_depth = 4;
constexpr int word_bytes = 4;

/// Counts the elements of K that a lane gives to one instruction: two words, or one of 8 bytes.
int elements_of_lane(int element_bytes) { return element_bytes == 8 ? 1 : 2 * word_bytes / element_bytes; }

/// Makes the fragment of all instructions that share the lanes' runs of K: a lane's words of one follow each other,
/// then come those of the next.
Fragment with_run(Fragment fragment, int element_bytes, int run, int axis) {
  if (run == 0) return fragment;
  auto const along_depth = [&](std::int64_t distance) {
    return axis == 0 ? Extents{distance, 0} : Extents{0, distance};
  };
  std::int64_t const second_word = word_bytes / element_bytes;
  for (Extents& place : fragment.registers)  // the ISA's second words are those after the first ones of all lanes
    if (place[axis] == lanes_of_depth * second_word) place = along_depth(second_word);
  for (std::int64_t at = elements_of_lane(element_bytes); at < run; at *= 2)
    fragment.registers.push_back(along_depth(at));
  fragment.lanes[0] = along_depth(run);
  fragment.lanes[1] = along_depth(2 * std::int64_t{run});
  fragment.shape[axis] = lanes_of_depth * run;
  return fragment;
}

/// False with a message unless the tile has two axes that these atoms divide.
bool divides(std::string_view subject, Extents const& shape, std::int64_t rows, std::int64_t columns,
             std::string& error) {
  if (shape.size() != 2) {
    error = fmt::format("{}: a tile of two axes is needed, found {}", subject, shape.size());
    return false;
  }
  if (shape[0] < 1 || shape[1] < 1 || shape[0] % rows != 0 || shape[1] % columns != 0) {
    error = fmt::format("{}: {} is not a multiple of {}x{}", subject, shape_text(shape), rows, columns);
    return false;
  }
  return true;
}

bool known_element(std::string_view subject, int element_bytes, int max_bytes, std::string& error) {
  if (element_bytes == 1 || element_bytes == 2 || element_bytes == 4 || element_bytes == max_bytes) return true;
  error = fmt::format("{}: elements of 1, 2{} bytes are needed, found {}", subject,
                      max_bytes == 8 ? ", 4 or 8" : " or 4", element_bytes);
  return false;
}

LayoutDigit along(int axis, std::int64_t count, std::int64_t stride) {
  return {count, axis == 0 ? Extents{stride, 0} : Extents{0, stride}};
}

/// Returns the warps of a grid: 16 rows apart, then `column` apart (0: copies), then copies.
LayoutInput warps_of(WarpGrid grid, LayoutDigit rows, LayoutDigit columns) {
  LayoutInput warp{Dim::warp, {}, {std::move(rows), std::move(columns)}};
  if (grid.copies > 1) warp.digits.push_back({grid.copies, {0, 0}});
  return warp;
}

/// Lays out 16-row fragments: warps of a warpgroup 16 rows apart, warpgroups 64, columns and further rows in registers.
/// Columns of warps take equal parts of the columns, or hold copies.
Layout const* by_rows(Fragment fragment, Extents const& shape, WarpGrid grid, bool parts_columns) {
  std::int64_t const columns = parts_columns ? shape[1] / grid.columns : shape[1];
  std::int64_t const rows = fragment.shape[0] * grid.rows;
  LayoutDigit column_warps =
      parts_columns && grid.columns > 1 ? along(1, grid.columns, columns) : LayoutDigit{grid.columns, {0, 0}};
  LayoutInput reg{Dim::reg,
                  std::move(fragment.registers),
                  {along(1, columns / fragment.shape[1], fragment.shape[1]), along(0, shape[0] / rows, rows)}};
  LayoutInput lane{Dim::lane, std::move(fragment.lanes), {}};
  return Layout::get({reg, lane, warps_of(grid, along(0, grid.rows, fragment.shape[0]), std::move(column_warps))}, 2);
}

bool known_run(std::string_view subject, int element_bytes, std::int64_t depth, int run, std::string& error) {
  std::vector<int> const runs = mma_runs(element_bytes, depth);
  if (std::find(runs.begin(), runs.end(), run) != runs.end()) return true;
  error = fmt::format("{}: no lanes have runs of {} in a depth of {}", subject, run, depth);
  return false;
}

bool known_warps(std::string_view subject, int warps, std::string& error) {
  if (warps >= 4 && warps % 4 == 0) return true;
  error = fmt::format("{}: whole warpgroups of 4 warps are needed, found {} warps", subject, warps);
  return false;
}

bool known_grid(std::string_view subject, WarpGrid grid, std::string& error) {
  if (grid.rows >= 1 && grid.columns >= 1 && grid.rows <= 64 && grid.columns <= 64 && grid.copies >= 1) return true;
  error = fmt::format("{}: a grid of 1 to 64 warps along rows and columns is needed, found {}x{}", subject, grid.rows,
                      grid.columns);
  return false;
}

template <class Make>
WarpGrid grid_of(Layout const* accumulator, int warps, Make const& make) {
  for (WarpGrid const grid : warp_grids(warps))
    if (Layout const* const found = make(grid); found != nullptr && found == accumulator) return grid;
  return {0, 0};
}

}  // namespace

std::vector<WarpGrid> warp_grids(int warps) {
  std::vector<WarpGrid> grids;
  for (int copies = 1; copies <= warps; ++copies)
    for (int rows = 1; rows * copies <= warps; ++rows)
      if (warps % (rows * copies) == 0) grids.push_back({rows, warps / (rows * copies), copies});
  return grids;
}

Layout const* wgmma_layout(Extents const& shape, WarpGrid grid, std::string& error) {
  if (!known_warps("wgmma", grid.rows, error) || !known_grid("wgmma", grid, error) ||
      !divides("wgmma", shape, 16 * std::int64_t{grid.rows}, 8 * std::int64_t{grid.columns}, error))
    return nullptr;
  return by_rows(accumulator(), shape, grid, true);
}
Layout const* wgmma_layout(Extents const& shape, int warps, std::string& error) {
  return wgmma_layout(shape, WarpGrid{warps, 1}, error);
}

Layout const* wgmma_a_layout(Extents const& shape, int element_bytes, WarpGrid grid, std::string& error) {
  if (!known_element("wgmma_a", element_bytes, 4, error) || !known_warps("wgmma_a", grid.rows, error) ||
      !known_grid("wgmma_a", grid, error) ||
      !divides("wgmma_a", shape, 16 * std::int64_t{grid.rows}, 32 / element_bytes, error))
    return nullptr;
  return by_rows(operand_a(element_bytes), shape, grid, false);
}
Layout const* wgmma_a_layout(Extents const& shape, int element_bytes, int warps, std::string& error) {
  return wgmma_a_layout(shape, element_bytes, WarpGrid{warps, 1}, error);
}

WarpGrid wgmma_grid(Extents const& shape, Layout const* accumulator, int warps) {
  std::string ignored;
  return grid_of(accumulator, warps, [&](WarpGrid grid) -> Layout const* {
    return grid.copies > 1 ? nullptr : wgmma_layout(shape, grid, ignored);
  });
}

WarpGrid mma_grid(Extents const& shape, Layout const* accumulator, int warps) {
  std::string ignored;
  return grid_of(accumulator, warps, [&](WarpGrid grid) { return mma_layout(shape, grid, ignored); });
}

Layout const* mma_layout(Extents const& shape, WarpGrid grid, std::string& error) {
  if (!known_grid("mma", grid, error) ||
      !divides("mma", shape, 16 * std::int64_t{grid.rows}, 8 * std::int64_t{grid.columns}, error))
    return nullptr;
  return by_rows(accumulator(), shape, grid, true);
}

std::vector<int> mma_runs(int element_bytes, std::int64_t depth) {
  std::vector<int> runs{0};
  int const shortest = elements_of_lane(element_bytes);
  if (element_bytes > word_bytes) return runs;
  for (std::int64_t run = shortest; depth > 0 && depth % (lanes_of_depth * run) == 0; run *= 2)
    runs.push_back(static_cast<int>(run));
  return runs;
}

int steps_of_run(int element_bytes, int run) { return run == 0 ? 1 : run / elements_of_lane(element_bytes); }

Layout const* mma_a_layout(Extents const& shape, int element_bytes, WarpGrid grid, std::string& error, int run) {
  if (!known_element("mma_a", element_bytes, 8, error) || !known_grid("mma_a", grid, error) ||
      !divides("mma_a", shape, 16 * std::int64_t{grid.rows}, 32 / element_bytes, error) ||
      !known_run("mma_a", element_bytes, shape[1], run, error))
    return nullptr;
  return by_rows(with_run(operand_a(element_bytes), element_bytes, run, 1), shape, grid, false);
}

Layout const* mma_b_layout(Extents const& shape, int element_bytes, WarpGrid grid, std::string& error, int run) {
  if (!known_element("mma_b", element_bytes, 8, error) || !known_grid("mma_b", grid, error) ||
      !divides("mma_b", shape, 32 / element_bytes, 8 * std::int64_t{grid.columns}, error) ||
      !known_run("mma_b", element_bytes, shape[0], run, error))
    return nullptr;
  Fragment fragment = with_run(operand_b(element_bytes), element_bytes, run, 0);
  std::int64_t const columns = shape[1] / grid.columns;
  LayoutInput reg{Dim::reg,
                  std::move(fragment.registers),
                  {along(1, columns / fragment.shape[1], fragment.shape[1]),
                   along(0, shape[0] / fragment.shape[0], fragment.shape[0])}};
  LayoutInput lane{Dim::lane, std::move(fragment.lanes), {}};
  return Layout::get({reg, lane, warps_of(grid, {grid.rows, {0, 0}}, along(1, grid.columns, columns))}, 2);
}

}  // namespace tegula::layout

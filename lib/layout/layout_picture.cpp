#include "layout/layout_picture.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "layout/element_offsets.hpp"

namespace tegula::layout {
namespace {

/// Prints `| a | b |` lines, all cells as wide as the widest.
std::string grid(std::vector<std::string> const& cells, std::size_t columns) {
  std::size_t width = 1;
  for (std::string const& cell : cells) width = std::max(width, cell.size());
  std::string result;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    result += (i % columns == 0 ? "| " : " | ") + cells[i] + std::string(width - cells[i].size(), ' ');
    if (i % columns == columns - 1) result += " |\n";
  }
  return result;
}

}  // namespace

std::string Layout::picture() const {
  if (rank() > 2) return text_ + "\n";
  std::int64_t const rows = rank() == 2 ? shape_[0] : 1;
  std::int64_t const columns = rank() >= 1 ? shape_[rank() - 1] : 1;
  std::vector<std::string> cells(static_cast<std::size_t>(rows * columns), "-");
  std::vector<std::int64_t> indices(inputs_.size(), 0);
  std::int64_t total = 1;
  for (LayoutInput const& input : inputs_) total *= input.size();
  for (std::int64_t n = 0; n < total; ++n) {
    std::int64_t rest = n;
    std::string label;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      indices[i] = rest % inputs_[i].size();
      rest /= inputs_[i].size();
      std::string_view const dim = name(inputs_[i].dim);
      label = fmt::format("{}{}{}{}{}", dim.substr(0, 1),
                          dim.substr(0, 4) == "axis" ? std::string(dim.substr(4)) + ":" : "", indices[i],
                          label.empty() ? "" : " ", label);
    }
    Extents const where = apply(indices);
    std::int64_t const row = rank() == 2 ? where[0] : 0;
    std::int64_t const column = rank() >= 1 ? where[rank() - 1] : 0;
    std::string& cell = cells[static_cast<std::size_t>(row * columns + column)];
    if (cell != "-") continue;  // the lowest index of each input comes first
    cell = label;
  }
  return grid(cells, static_cast<std::size_t>(columns));
}

namespace {

/// Finds how many neighbours along the rows, or else along the columns, are adjacent everywhere: a power of two.
template <class At>
std::pair<std::int64_t, std::int64_t> adjacent_elements(std::int64_t rows, std::int64_t columns, std::int64_t max,
                                                        At const& at) {
  auto const runs = [&](std::int64_t length, bool along_rows) {
    if ((along_rows ? rows : columns) % length != 0) return false;
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::int64_t column = 0; column < columns; ++column) {
        std::int64_t const within = (along_rows ? row : column) % length;
        std::int64_t const start = along_rows ? at(row - within, column) : at(row, column - within);
        if (at(row, column) != start + within) return false;
      }
    return true;
  };
  std::int64_t row_step = 1, column_step = 1;
  for (std::int64_t length = 2; length <= max; length *= 2) {
    if (row_step == 1 && runs(length, false))
      column_step = length;
    else if (column_step == 1 && runs(length, true))
      row_step = length;
  }
  return {row_step, column_step};
}

}  // namespace

std::string shared_picture(Layout const& memory, int element_bytes) {
  std::string why;
  ElementOffsets const* offsets = ElementOffsets::get(memory, why);
  if (offsets == nullptr) return why + "\n";
  Extents shape = memory.shape();
  int const leading = std::max(shape.size() - 2, 0);
  while (shape.size() < 2) shape.insert(0, 1);
  std::int64_t const rows = shape[shape.size() - 2], columns = shape[shape.size() - 1];
  auto const at = [&](Extents const& first, std::int64_t row, std::int64_t column) {
    Extents where = first;
    if (memory.rank() >= 2) where.push_back(row);
    if (memory.rank() >= 1) where.push_back(column);
    return offsets->at(where).count;
  };
  Extents first;
  for (int a = 0; a < leading; ++a) first.push_back(0);

  auto const [row_step, column_step] = adjacent_elements(
      rows, columns, 16 / element_bytes, [&](std::int64_t row, std::int64_t column) { return at(first, row, column); });

  std::string result;
  std::int64_t count = 1;
  for (int a = 0; a < leading; ++a) count *= shape[a];
  for (std::int64_t n = 0; n < count; ++n) {
    std::int64_t rest = n;
    for (int a = leading - 1; a >= 0; --a) {
      first[a] = rest % shape[a];
      rest /= shape[a];
    }
    if (leading > 0) {
      result += "at";
      for (std::int64_t index : first) result += fmt::format(" {}", index);
      result += '\n';
    }
    std::vector<std::string> cells;
    for (std::int64_t row = 0; row < rows; row += row_step)
      for (std::int64_t column = 0; column < columns; column += column_step) {
        std::int64_t const offset = at(first, row, column);
        cells.push_back(fmt::format("{}:{}", offset, offset * element_bytes / 4 % 32));
      }
    result += grid(cells, static_cast<std::size_t>(columns / column_step));
  }
  return result;
}

}  // namespace tegula::layout

#include "layout/shared_layouts.hpp"

#include <fmt/format.h>

#include <bit>
#include <utility>

namespace tegula::layout {
namespace {

constexpr int chunk_bytes = 16;

Extents unit(int rank, int axis, std::int64_t value) {
  Extents result;
  for (int i = 0; i < rank; ++i) result.push_back(i == axis ? value : 0);
  return result;
}

Extents last_two_exchanged(Extents shape) {
  int const rank = shape.size();
  std::int64_t const last = shape[rank - 1];
  shape[rank - 1] = shape[rank - 2];
  shape[rank - 2] = last;
  return shape;
}

/// Counts the rows after which the pattern of a swizzle repeats.
std::int64_t pattern_rows(int swizzle_bytes) { return swizzle_bytes == 16 ? 1 : swizzle_rows; }

/// Says why no tile of this shape is swizzled so; empty: it may be.
std::string why_not_swizzled(Extents const& shape, int element_bytes, int swizzle_bytes) {
  if (swizzle_bytes != 128 && swizzle_bytes != 64 && swizzle_bytes != 32 && swizzle_bytes != 16)
    return "the swizzle is 128, 64, 32 or 16 bytes";
  if (element_bytes < 1 || element_bytes > 8 || !std::has_single_bit(static_cast<unsigned>(element_bytes)))
    return fmt::format("elements of 1, 2, 4 or 8 bytes are needed, found {}", element_bytes);
  int const rank = shape.size();
  if (rank < 2) return fmt::format("a tile of two axes or more is needed, found {}", rank);
  for (std::int64_t extent : shape)
    if (extent < 1) return fmt::format("extents of 1 or more are needed, found {}", extent);
  std::int64_t const columns = shape[rank - 1], rows = shape[rank - 2], block = swizzle_bytes / element_bytes;
  if (columns % block != 0)
    return fmt::format("the contiguous axis has {} elements of {} bytes, not a multiple of {}; take a smaller swizzle",
                       columns, element_bytes, block);
  std::int64_t const pattern = pattern_rows(swizzle_bytes);
  if (rows % pattern != 0 && (rows > pattern || !std::has_single_bit(static_cast<std::uint64_t>(rows))))
    return fmt::format("{} rows are not a multiple of the 8 rows of the pattern", rows);
  return {};
}

}  // namespace

Layout const* swizzled_layout(Extents const& shape, int element_bytes, int swizzle_bytes, std::string& error) {
  auto const fail = [&](std::string const& text) -> Layout const* {
    error = fmt::format("swizzled({}): {}", swizzle_bytes, text);
    return nullptr;
  };
  if (std::string const wrong = why_not_swizzled(shape, element_bytes, swizzle_bytes); !wrong.empty())
    return fail(wrong);
  int const rank = shape.size();
  std::int64_t const columns = shape[rank - 1];
  std::int64_t const rows = shape[rank - 2];
  std::int64_t const block = swizzle_bytes / element_bytes;
  std::int64_t const pattern = pattern_rows(swizzle_bytes);

  // The chunk bit that a row bit flips, per row bit of the pattern.
  std::int64_t const chunk = chunk_bytes / element_bytes;
  std::int64_t const period = 128 / swizzle_bytes;  // rows that share one XOR
  LayoutInput offset{Dim::offset, {}, {}};
  for (std::int64_t column = 1; column < block; column *= 2) offset.bases.push_back(unit(rank, rank - 1, column));
  std::int64_t row = 1;
  for (; row < pattern && row < rows; row *= 2) {
    Extents basis = unit(rank, rank - 2, row);
    if (swizzle_bytes > 16 && row >= period) basis[rank - 1] = row / period * chunk;
    offset.bases.push_back(basis);
  }
  offset.digits.push_back({rows / row, unit(rank, rank - 2, row)});
  offset.digits.push_back({columns / block, unit(rank, rank - 1, block)});
  for (int axis = rank - 3; axis >= 0; --axis) offset.digits.push_back({shape[axis], unit(rank, axis, 1)});
  return Layout::get({offset}, rank);
}

Layout const* swizzled_transposed_layout(Extents const& shape, int element_bytes, int swizzle_bytes,
                                         std::string& error) {
  int const rank = shape.size();
  if (rank < 2) {
    error = fmt::format("swizzled_t({}): a tile of two axes or more is needed, found {}", swizzle_bytes, rank);
    return nullptr;
  }
  Layout const* straight = swizzled_layout(last_two_exchanged(shape), element_bytes, swizzle_bytes, error);
  if (straight == nullptr) return nullptr;
  Extents order;
  for (int axis = 0; axis < rank; ++axis) order.push_back(axis);
  return straight->transposed(last_two_exchanged(order));
}

Layout const* dense_layout(Extents const& shape) {
  Extents order;
  for (int axis = shape.size() - 1; axis >= 0; --axis) order.push_back(axis);
  return Layout::dense(shape, order);
}

Layout const* dense_transposed_layout(Extents const& shape) {
  Extents order;
  for (int axis = shape.size() - 1; axis >= 0; --axis) order.push_back(axis);
  if (shape.size() >= 2) std::swap(order[0], order[1]);
  return Layout::dense(shape, order);
}

std::optional<SharedForm> shared_form(Layout const& layout, int element_bytes) {
  Extents const& shape = layout.shape();
  std::string ignored;
  for (bool transposed : {false, true}) {
    if ((transposed ? dense_transposed_layout : dense_layout)(shape) == &layout) return SharedForm{0, transposed};
    for (int swizzle : {128, 64, 32, 16})
      if ((transposed ? swizzled_transposed_layout : swizzled_layout)(shape, element_bytes, swizzle, ignored) ==
          &layout)
        return SharedForm{swizzle, transposed};
  }
  return std::nullopt;
}

}  // namespace tegula::layout

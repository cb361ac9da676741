#include "target/tma_copies.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "layout/element_offsets.hpp"
#include "layout/shared_layouts.hpp"

namespace tegula::target {
namespace {

namespace rule = tma_rule;
using layout::shape_text;

constexpr std::int64_t max_box = rule::max_box_extent;
constexpr int max_tma_rank = rule::max_axes;

std::string place_text(Extents const& where) {
  std::string text = "(";
  for (int i = 0; i < where.size(); ++i) text += fmt::format("{}{}", i > 0 ? ", " : "", where[i]);
  return text + ")";
}

/// Returns the tile's coordinates of a view's element, from an origin that may lack leading axes.
Extents place(Extents const& origin, int rank) {
  Extents result = origin;
  while (result.size() < rank) result.insert(0, 0);
  return result;
}

/// Returns a finding unless the box that begins at `origin` stays inside the tile.
Finding leaves_tile(Extents const& origin, Extents const& view, layout::Layout const& memory) {
  for (int a = 0; a < memory.rank(); ++a) {
    int const axis = a - (memory.rank() - view.size());
    if (origin[a] >= 0 && origin[a] + (axis < 0 ? 1 : view[axis]) <= memory.shape()[a]) continue;
    return Finding(finding::outside, shape_text(view), place_text(origin), shape_text(memory.shape()));
  }
  return {};
}

/// Compares the memory that a copy writes, box row by box row, with the layout's place of each element.
Finding first_difference(Extents const& box, int swizzle_bytes, layout::ElementOffsets const& offsets,
                         int element_bytes, Extents const& axes, Extents const& origin) {
  layout::ByteOffset const start =
      layout::swizzled_address(layout::in_bytes(offsets.at(origin), element_bytes), swizzle_bytes);
  if (start.count % 128 != 0) return Finding(finding::begin, start.count);
  std::int64_t const elements = box.product();
  for (std::int64_t n = 0; n < elements; ++n) {
    Extents where = origin;
    std::int64_t rest = n;
    for (int i = box.size() - 1; i >= 0; --i) {
      if (axes[i] >= 0) where[static_cast<int>(axes[i])] += rest % box[i];
      rest /= box[i];
    }
    layout::ByteOffset const written =
        layout::swizzled_address(start + layout::in_bytes(layout::ElementOffset{n}, element_bytes), swizzle_bytes);
    layout::ByteOffset const wanted = layout::in_bytes(offsets.at(where), element_bytes);
    if (written != wanted)
      return Finding(finding::displaced,
                     swizzle_bytes > 16 ? fmt::format("swizzle {}", swizzle_bytes) : std::string("no swizzle"),
                     shape_text(box), place_text(where), written.count, wanted.count);
  }
  return {};
}

std::int64_t largest_divisor(std::int64_t extent, std::int64_t limit) {
  for (std::int64_t divisor = std::min(extent, limit); divisor > 1; --divisor)
    if (extent % divisor == 0) return divisor;
  return 1;
}

}  // namespace

std::vector<Finding> tma_box_errors(Extents const& box, int swizzle_bytes, int element_bytes) {
  std::vector<Finding> result;
  if (element_bytes != 1 && element_bytes != 2 && element_bytes != 4 && element_bytes != 8)
    result.emplace_back(finding::element_bytes, element_bytes);
  bool const swizzles = swizzle_bytes == 32 || swizzle_bytes == 64 || swizzle_bytes == 128;
  if (!swizzles && swizzle_bytes != 0 && swizzle_bytes != 16) result.emplace_back(finding::span, swizzle_bytes);
  if (box.size() < 1 || box.size() > max_tma_rank) {
    result.emplace_back(finding::box_rank, box.size());
    return result;
  }
  for (int i = 0; i < box.size(); ++i)
    if (box[i] < 1 || box[i] > max_box) result.emplace_back(finding::box_extent, i, shape_text(box), box[i]);
  std::int64_t const inner = box.back() * element_bytes;
  if (inner % 16 != 0) result.emplace_back(finding::row, shape_text(box), inner);
  if (swizzles && inner > swizzle_bytes)
    result.emplace_back(finding::span_exceeded, shape_text(box), inner, swizzle_bytes);
  // A narrower box leaves gaps: its rows still lie a swizzle apart, and the bytes that it signals to the mbarrier are
  // not known.
  if (swizzles && inner < swizzle_bytes)
    result.emplace_back(finding::span_unfilled, shape_text(box), inner, swizzle_bytes);
  return result;
}

namespace {

/// Returns the view's axis for one of a box, as `axes` says, else the last ones in order; -1: none.
std::int64_t axis_of_view(int of_box, Extents const& box, Extents const& view, Extents const& axes) {
  std::int64_t axis = of_box + view.size() - box.size();
  if (!axes.empty()) axis = of_box < axes.size() ? axes[of_box] : -1;
  return axis >= 0 && axis < view.size() ? axis : -1;
}

/// Returns where the n-th part of a view begins, in row-major order of parts of these extents.
Extents origin_of_part(std::int64_t n, Extents const& view, Extents const& part) {
  Extents origin = view;
  for (int a = view.size() - 1; a >= 0; --a) {
    origin[a] = n % (view[a] / part[a]) * part[a];
    n /= view[a] / part[a];
  }
  return origin;
}

}  // namespace

TmaPlan tma_copies(Extents const& box, int swizzle_bytes, Extents const& view, layout::Layout const& memory,
                   int element_bytes, Extents const& axes, Extents const& origin) {
  TmaPlan plan;
  plan.swizzle_bytes = swizzle_bytes > 16 ? swizzle_bytes : 0;
  plan.box = box;
  plan.bytes = box.product() * element_bytes;
  plan.alignment = layout::swizzle_alignment(swizzle_bytes);
  plan.broken = tma_box_errors(box, swizzle_bytes, element_bytes);
  std::string why;
  layout::ElementOffsets const* offsets = fits(view, memory, why) ? layout::ElementOffsets::get(memory, why) : nullptr;
  if (offsets == nullptr) {
    plan.broken.emplace_back(finding::stated, why);
    return plan;
  }
  Extents const first = place(origin, memory.rank());
  if (Finding error = leaves_tile(first, view, memory); !error.empty()) plan.broken.push_back(std::move(error));

  int const rank = view.size();
  int const missing = memory.rank() - rank;
  Extents along;    // the tile's axis of each axis of the box
  Extents covered;  // extent of the view that one box covers
  for (int a = 0; a < rank; ++a) covered.push_back(1);
  for (int i = 0; i < box.size(); ++i) {
    std::int64_t const axis = axis_of_view(i, box, view, axes);
    plan.axes.push_back(axis);
    along.push_back(axis < 0 ? -1 : axis + missing);
    if (axis >= 0)
      covered[static_cast<int>(axis)] *= box[i];
    else if (box[i] != 1)
      plan.broken.emplace_back(finding::box_axis, i, shape_text(box), box[i], shape_text(view));
  }
  std::int64_t count = 1;
  bool whole = true;
  for (int a = 0; a < rank && plan.legal(); ++a) {
    whole &= view[a] % covered[a] == 0;
    count *= view[a] / covered[a];
  }
  if (!whole) plan.broken.emplace_back(finding::box_parts, shape_text(box), shape_text(view));

  auto const linear = [&](Extents const& where) {
    return layout::swizzled_address(layout::in_bytes(offsets->at(where), element_bytes), plan.swizzle_bytes);
  };
  for (std::int64_t n = 0; n < count && plan.legal(); ++n) {
    TmaCopy copy;
    copy.origin = origin_of_part(n, view, covered);
    Extents begin = first;
    for (int a = 0; a < rank; ++a) begin[a + missing] += copy.origin[a];
    copy.offset = linear(begin) - linear(first);
    if (Finding error = first_difference(box, plan.swizzle_bytes, *offsets, element_bytes, along, begin);
        !error.empty())
      plan.broken.push_back(std::move(error));
    plan.copies.push_back(copy);
  }
  std::sort(plan.copies.begin(), plan.copies.end(),
            [](TmaCopy const& a, TmaCopy const& b) { return a.offset < b.offset; });
  return plan;
}

std::vector<Finding> tma_copy_errors(Extents const& box, int swizzle_bytes, Extents const& view,
                                     layout::Layout const& memory, int element_bytes, Extents const& axes,
                                     Extents const& origin) {
  TmaPlan plan = tma_copies(box, swizzle_bytes, view, memory, element_bytes, axes, origin);
  if (plan.legal() && plan.copies.size() > 1)
    plan.broken.emplace_back(finding::box_whole, shape_text(box), shape_text(view));
  return plan.broken;
}

namespace {

/// Explains why no copies bring a view of shared memory from a tensor; empty: some may.
Finding why_no_copies(Extents const& view, layout::Layout const& memory, Extents const& first,
                      std::optional<layout::SharedForm> const& form) {
  if (Finding error = leaves_tile(first, view, memory); !error.empty()) return error;
  if (view.empty() || view.size() > max_tma_rank) return Finding(finding::tile_rank, view.size());
  if (!form) return Finding(finding::layout, memory.text());
  return {};
}

/// Merges elements into a box from the innermost axis out, as long as the next row follows where the box so far ends.
/// Column blocks end a row.
Extents merged_box(Extents const& view, Extents const& axes, layout::ElementOffsets const& offsets,
                   layout::SharedForm const& form, int element_bytes, Extents const& first, int swizzle) {
  int const rank = view.size(), missing = first.size() - rank;
  auto const linear = [&](Extents const& where) {
    return layout::swizzled_address(layout::in_bytes(offsets.at(where), element_bytes), swizzle);
  };
  Extents box;
  for (int a = 0; a < rank; ++a) box.push_back(1);
  std::int64_t filled = 1;
  bool whole = true;  // the box so far is all of the view along the axes passed
  for (int i = rank - 1; i >= 0; --i) {
    int const axis = static_cast<int>(axes[i]);
    if (view[axis] == 1 || !whole) continue;
    Extents next = first;
    next[axis + missing] += 1;
    if (linear(next) - linear(first) != layout::in_bytes(layout::ElementOffset{filled}, element_bytes)) continue;
    bool const in_blocks = i == rank - 1 && form.swizzle_bytes > 0;
    box[i] = largest_divisor(view[axis], in_blocks ? form.swizzle_bytes / element_bytes : max_box);
    filled *= box[i];
    whole = box[i] == view[axis] || in_blocks;
  }
  return box;
}

}  // namespace

TmaPlan tma_plan(Extents const& view, layout::Layout const& memory, int element_bytes, Extents const& origin) {
  TmaPlan refused;
  std::string why;
  layout::ElementOffsets const* offsets = fits(view, memory, why) ? layout::ElementOffsets::get(memory, why) : nullptr;
  Extents const first = place(origin, memory.rank());
  auto const form = layout::shared_form(memory, element_bytes);
  Finding error = offsets == nullptr ? Finding(finding::stated, why) : why_no_copies(view, memory, first, form);
  if (!error.empty()) {
    refused.broken.push_back(std::move(error));
    return refused;
  }
  int const swizzle = form->swizzle_bytes > 16 ? form->swizzle_bytes : 0;
  int const rank = view.size();
  Extents axes;
  for (int a = 0; a < rank; ++a) axes.push_back(a);
  if (form->transposed && rank >= 2) std::swap(axes[rank - 1], axes[rank - 2]);
  Extents const box = merged_box(view, axes, *offsets, *form, element_bytes, first, swizzle);
  return tma_copies(box, swizzle, view, memory, element_bytes, axes, origin);
}

std::vector<Finding> tma_tensor_errors(TmaTensor const& tensor, int element_bytes) {
  std::vector<Finding> result;
  if (tensor.rank < 1 || tensor.rank > max_tma_rank) result.emplace_back(finding::tensor_rank, tensor.rank);
  if (!tensor.unit_inner) result.emplace_back(finding::contiguous);
  auto const multiple_of_16 = [&](FindingKind const& kind, std::int64_t bytes) {
    if (bytes % 16 != 0) result.emplace_back(kind, bytes);
  };
  multiple_of_16(finding::address, tensor.address_multiple);
  if (tensor.rank > 1) multiple_of_16(finding::stride, tensor.stride_multiple);
  multiple_of_16(finding::coordinate, tensor.coordinate_multiple * element_bytes);
  return result;
}

}  // namespace tegula::target

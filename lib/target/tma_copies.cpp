#include "target/tma_copies.hpp"

#include <algorithm>

#include "layout/element_offsets.hpp"
#include "layout/shared_layouts.hpp"

namespace tegula::target {
namespace {

namespace rule = tma_rule;

constexpr std::int64_t max_box = rule::max_box_extent;
constexpr int max_tma_rank = rule::max_axes;
constexpr std::string_view tma_prefix = "tma: ";

std::string bytes_text(std::int64_t bytes) { return std::to_string(bytes) + " bytes"; }

std::string place_text(Extents const& where) {
  std::string text = "(";
  for (int i = 0; i < where.size(); ++i) text += (i > 0 ? ", " : "") + std::to_string(where[i]);
  return text + ")";
}

/// Gives the tile's coordinates of a view's element, from an origin that may lack leading axes.
Extents place(Extents const& origin, int rank) {
  Extents result = origin;
  while (result.size() < rank) result.insert(0, 0);
  return result;
}

/// False with a message unless the box that begins at `origin` stays inside the tile.
bool inside(Extents const& origin, Extents const& view, layout::Layout const& memory, std::string& why) {
  for (int a = 0; a < memory.rank(); ++a) {
    int const axis = a - (memory.rank() - view.size());
    if (origin[a] >= 0 && origin[a] + (axis < 0 ? 1 : view[axis]) <= memory.shape()[a]) continue;
    why = breaks(rule::placement, "a view of " + layout::shape_text(view) + " at " + place_text(origin) +
                                      " leaves the tile of " + layout::shape_text(memory.shape()));
    return false;
  }
  return true;
}

/// Compares the memory that a copy writes, box row by box row, with the layout's place of each element.
std::string first_difference(Extents const& box, int swizzle_bytes, layout::ElementOffsets const& offsets,
                             int element_bytes, Extents const& axes, Extents const& origin) {
  layout::ByteOffset const start =
      layout::swizzled_address(layout::in_bytes(offsets.at(origin), element_bytes), swizzle_bytes);
  if (start.count % 128 != 0)
    return breaks(rule::placement, "a copy begins at byte " + std::to_string(start.count) +
                                       " of the tile; it must be a multiple of 128");
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
      return breaks(rule::placement,
                    "a copy with " + (swizzle_bytes > 16 ? "swizzle " + std::to_string(swizzle_bytes) : "no swizzle") +
                        " and box " + layout::shape_text(box) + " puts element " + place_text(where) + " at byte " +
                        std::to_string(written.count) + " of the tile, its layout has it at byte " +
                        std::to_string(wanted.count));
  }
  return {};
}

std::int64_t largest_divisor(std::int64_t extent, std::int64_t limit) {
  for (std::int64_t divisor = std::min(extent, limit); divisor > 1; --divisor)
    if (extent % divisor == 0) return divisor;
  return 1;
}

}  // namespace

std::string breaks(TmaRule const& rule, std::string_view what) {
  return std::string(tma_prefix) + std::string(rule.name) + ": " + std::string(what);
}

TmaRule const* broken_rule(std::string_view sentence) {
  if (!sentence.starts_with(tma_prefix)) return nullptr;
  sentence.remove_prefix(tma_prefix.size());
  std::string_view const name = sentence.substr(0, sentence.find(':'));
  for (TmaRule const* rule : rule::all)
    if (rule->name == name) return rule;
  return nullptr;
}

std::string_view without_rule(std::string_view sentence) {
  TmaRule const* const rule = broken_rule(sentence);
  if (rule != nullptr) sentence.remove_prefix(tma_prefix.size() + rule->name.size() + 2);
  return sentence;
}

std::vector<std::string> tma_box_errors(Extents const& box, int swizzle_bytes, int element_bytes) {
  std::vector<std::string> result;
  if (element_bytes != 1 && element_bytes != 2 && element_bytes != 4 && element_bytes != 8)
    result.push_back(breaks(rule::element, "elements of " + bytes_text(element_bytes) + "; 1, 2, 4 or 8 are possible"));
  bool const swizzles = swizzle_bytes == 32 || swizzle_bytes == 64 || swizzle_bytes == 128;
  if (!swizzles && swizzle_bytes != 0 && swizzle_bytes != 16)
    result.push_back(
        breaks(rule::swizzle, "a swizzle of " + bytes_text(swizzle_bytes) + "; none, 32, 64 or 128 are possible"));
  if (box.size() < 1 || box.size() > max_tma_rank) {
    result.push_back(breaks(rule::rank, "a box of " + std::to_string(box.size()) + " axes; 1 to 5 are possible"));
    return result;
  }
  for (int i = 0; i < box.size(); ++i)
    if (box[i] < 1 || box[i] > max_box)
      result.push_back(breaks(rule::box, "axis " + std::to_string(i) + " of box " + layout::shape_text(box) + " has " +
                                             std::to_string(box[i]) + " elements; 1 to 256 are possible"));
  std::int64_t const inner = box.back() * element_bytes;
  if (inner % 16 != 0)
    result.push_back(breaks(rule::row, "the last axis of box " + layout::shape_text(box) + " has " + bytes_text(inner) +
                                           ", not a multiple of 16"));
  if (swizzles && inner > swizzle_bytes)
    result.push_back(breaks(rule::swizzle, "the last axis of box " + layout::shape_text(box) + " has " +
                                               bytes_text(inner) + ", more than the swizzle of " +
                                               bytes_text(swizzle_bytes)));
  // A narrower box leaves gaps: its rows still lie a swizzle apart, and the bytes that it signals to the mbarrier are
  // unknown.
  if (swizzles && inner < swizzle_bytes)
    result.push_back(breaks(rule::swizzle, "the last axis of box " + layout::shape_text(box) + " has " +
                                               bytes_text(inner) + ", less than the swizzle of " +
                                               bytes_text(swizzle_bytes) + "; take a smaller swizzle"));
  return result;
}

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
    plan.broken.push_back(why);
    return plan;
  }
  Extents const first = place(origin, memory.rank());
  if (!inside(first, view, memory, why)) plan.broken.push_back(why);

  int const rank = view.size();
  int const missing = memory.rank() - rank;
  Extents along;    // the tile's axis of each axis of the box
  Extents covered;  // extent of the view that one box covers
  for (int a = 0; a < rank; ++a) covered.push_back(1);
  for (int i = 0; i < box.size(); ++i) {
    std::int64_t axis = axes.empty() ? i + rank - box.size() : i < axes.size() ? axes[i] : -1;
    if (axis >= rank) axis = -1;
    plan.axes.push_back(axis < 0 ? -1 : axis);
    along.push_back(axis < 0 ? -1 : axis + missing);
    if (axis >= 0)
      covered[static_cast<int>(axis)] *= box[i];
    else if (box[i] != 1)
      plan.broken.push_back(breaks(rule::box, "axis " + std::to_string(i) + " of box " + layout::shape_text(box) +
                                                  " has " + std::to_string(box[i]) +
                                                  " elements but no axis in a view of " + layout::shape_text(view)));
  }
  std::int64_t count = 1;
  bool whole = true;
  for (int a = 0; a < rank && plan.legal(); ++a) {
    whole &= view[a] % covered[a] == 0;
    count *= view[a] / covered[a];
  }
  if (!whole)
    plan.broken.push_back(breaks(
        rule::box, "boxes of " + layout::shape_text(box) + " do not make up a view of " + layout::shape_text(view)));

  auto const linear = [&](Extents const& where) {
    return layout::swizzled_address(layout::in_bytes(offsets->at(where), element_bytes), plan.swizzle_bytes);
  };
  for (std::int64_t n = 0; n < count && plan.legal(); ++n) {
    TmaCopy copy;
    Extents begin = first;
    for (int a = 0; a < rank; ++a) copy.origin.push_back(0);
    std::int64_t rest = n;
    for (int a = rank - 1; a >= 0; --a) {
      copy.origin[a] = rest % (view[a] / covered[a]) * covered[a];
      begin[a + missing] += copy.origin[a];
      rest /= view[a] / covered[a];
    }
    copy.offset = linear(begin) - linear(first);
    if (std::string text = first_difference(box, plan.swizzle_bytes, *offsets, element_bytes, along, begin);
        !text.empty())
      plan.broken.push_back(std::move(text));
    plan.copies.push_back(copy);
  }
  std::sort(plan.copies.begin(), plan.copies.end(),
            [](TmaCopy const& a, TmaCopy const& b) { return a.offset < b.offset; });
  return plan;
}

std::vector<std::string> tma_copy_errors(Extents const& box, int swizzle_bytes, Extents const& view,
                                         layout::Layout const& memory, int element_bytes, Extents const& axes,
                                         Extents const& origin) {
  TmaPlan plan = tma_copies(box, swizzle_bytes, view, memory, element_bytes, axes, origin);
  if (plan.legal() && plan.copies.size() > 1)
    plan.broken.push_back(breaks(
        rule::box, "a box of " + layout::shape_text(box) + " does not fill a view of " + layout::shape_text(view)));
  return plan.broken;
}

TmaPlan tma_plan(Extents const& view, layout::Layout const& memory, int element_bytes, Extents const& origin) {
  TmaPlan refused;
  std::string why;
  layout::ElementOffsets const* offsets = fits(view, memory, why) ? layout::ElementOffsets::get(memory, why) : nullptr;
  Extents const first = place(origin, memory.rank());
  auto const form = layout::shared_form(memory, element_bytes);
  if (offsets != nullptr && inside(first, view, memory, why)) {
    if (view.empty() || view.size() > max_tma_rank)
      why = breaks(rule::rank, "a tile of " + std::to_string(view.size()) + " axes; 1 to 5 are possible");
    else if (!form)
      why = breaks(rule::placement,
                   "no copy writes the layout " + memory.text() + "; dense and swizzled tiles are possible");
  }
  if (!why.empty()) {
    refused.broken.push_back(why);
    return refused;
  }
  int const swizzle = form->swizzle_bytes > 16 ? form->swizzle_bytes : 0;
  int const rank = view.size();
  int const missing = memory.rank() - rank;
  Extents axes, box;
  for (int a = 0; a < rank; ++a) {
    axes.push_back(a);
    box.push_back(1);
  }
  if (form->transposed && rank >= 2) std::swap(axes[rank - 1], axes[rank - 2]);

  // Merges from the innermost axis out: as long as the next row follows where the box so far ends. Column blocks end a
  // row.
  auto const linear = [&](Extents const& where) {
    return layout::swizzled_address(layout::in_bytes(offsets->at(where), element_bytes), swizzle);
  };
  std::int64_t filled = 1;
  bool whole = true;  // the box so far is all of the view along the axes passed
  for (int i = rank - 1; i >= 0; --i) {
    int const axis = static_cast<int>(axes[i]);
    if (view[axis] == 1 || !whole) continue;
    bool const inner = i == rank - 1;
    Extents next = first;
    next[axis + missing] += 1;
    if (linear(next) - linear(first) != layout::in_bytes(layout::ElementOffset{filled}, element_bytes)) continue;
    bool const in_blocks = inner && form->swizzle_bytes > 0;
    box[i] = largest_divisor(view[axis], in_blocks ? form->swizzle_bytes / element_bytes : max_box);
    filled *= box[i];
    whole = box[i] == view[axis] || in_blocks;
  }
  return tma_copies(box, swizzle, view, memory, element_bytes, axes, origin);
}

std::vector<std::string> tma_tensor_errors(TmaTensor const& tensor, int element_bytes) {
  std::vector<std::string> result;
  if (tensor.rank < 1 || tensor.rank > max_tma_rank)
    result.push_back(breaks(rule::rank, "a tensor of " + std::to_string(tensor.rank) + " axes; 1 to 5 are possible"));
  if (!tensor.unit_inner)
    result.push_back(breaks(rule::contiguous, "the tensor's last axis is not known to be contiguous"));
  auto const multiple_of_16 = [&](TmaRule const& rule, std::int64_t bytes, std::string const& what) {
    if (bytes % 16 != 0)
      result.push_back(breaks(rule, what + " is known to be a multiple of " + bytes_text(bytes) + ", not of 16"));
  };
  multiple_of_16(rule::address, tensor.address_multiple, "the tensor's address");
  if (tensor.rank > 1) multiple_of_16(rule::stride, tensor.stride_multiple, "the stride of the tensor's rows");
  multiple_of_16(rule::coordinate, tensor.coordinate_multiple * element_bytes,
                 "the start of a copy along the tensor's last axis");
  return result;
}

}  // namespace tegula::target

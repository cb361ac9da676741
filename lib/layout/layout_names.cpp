#include "layout/layout_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "layout/element_offsets.hpp"
#include "layout/fragment_layouts.hpp"
#include "layout/parts.hpp"
#include "layout/shared_layouts.hpp"
#include "support/locks.hpp"
#include "tegula/support/warp.hpp"

namespace tegula::layout {
namespace {

constexpr std::int64_t max_elements = 1 << 24;  // of a tile whose layout has a name

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

/// Parses a positive number up to max_elements that is all of the text.
std::optional<std::int64_t> number(std::string_view text) {
  std::int64_t value = 0;
  auto const [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size() || value < 1 || value > max_elements) return std::nullopt;
  return value;
}

template <class F>
bool split(std::string_view text, char separator, F const& take) {
  for (;;) {
    std::size_t const at = text.find(separator);
    if (!take(trimmed(text.substr(0, at)))) return false;
    if (at == std::string_view::npos) return true;
    text.remove_prefix(at + 1);
  }
}

/// Holds `name(argument, argument)`; parentheses may be absent.
struct Call {
  std::string_view name;
  std::vector<std::string_view> arguments;
};
std::optional<Call> read_call(std::string_view text) {
  std::size_t const open = text.find('(');
  Call call{trimmed(text.substr(0, open)), {}};
  if (open == std::string_view::npos) return call;
  if (text.back() != ')') return std::nullopt;
  std::string_view const inside = text.substr(open + 1, text.size() - open - 2);
  // Arguments of an inner call stay with it.
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i <= inside.size(); ++i) {
    if (i < inside.size() && inside[i] == '(') ++depth;
    if (i < inside.size() && inside[i] == ')' && --depth < 0) return std::nullopt;
    if (i < inside.size() && (inside[i] != ',' || depth > 0)) continue;
    call.arguments.push_back(trimmed(inside.substr(begin, i - begin)));
    begin = i + 1;
  }
  if (depth != 0) return std::nullopt;
  return call;
}

Layout const* unknown(std::string_view text, bool shared, std::string& error) {
  error = "layout: expected ";
  error += shared ? "dense, dense_t, swizzled(bytes), swizzled_t(bytes)"
                  : "wgmma, wgmma_a, mma, mma_a, mma_b, rows(..), columns(..), folded(..)";
  error += " or basis vectors in brackets, found '" + std::string(text) + "'";
  return nullptr;
}

Layout const* shared_by_name(Call const& call, std::string_view text, Extents const& shape, int element_bytes,
                             std::string& error) {
  if (call.name == "dense" && call.arguments.empty()) return dense_layout(shape);
  if (call.name == "dense_t" && call.arguments.empty()) return dense_transposed_layout(shape);
  bool const straight = call.name == "swizzled";
  if ((!straight && call.name != "swizzled_t") || call.arguments.size() != 1) return unknown(text, true, error);
  auto const width = number(call.arguments[0]);
  if (!width) return unknown(text, true, error);
  return (straight ? swizzled_layout : swizzled_transposed_layout)(shape, element_bytes, static_cast<int>(*width),
                                                                   error);
}

Layout const* fragment_by_name(Call const& call, std::string_view text, Extents const& shape, int element_bytes,
                               std::string& error) {
  WarpGrid grid;
  bool const of_warpgroups = call.name == "wgmma" || call.name == "wgmma_a";
  if (call.arguments.size() > (of_warpgroups ? 2U : 3U)) return unknown(text, false, error);
  for (std::size_t i = 0; i < call.arguments.size(); ++i) {
    auto const count = number(call.arguments[i]);
    if (!count || *count > 64) return unknown(text, false, error);
    (i == 0 ? grid.rows : i == 1 ? grid.columns : grid.copies) = static_cast<int>(*count);
  }
  if (call.name == "wgmma") return wgmma_layout(shape, grid, error);
  if (call.name == "wgmma_a") return wgmma_a_layout(shape, element_bytes, grid, error);
  if (call.name == "mma") return mma_layout(shape, grid, error);
  if (call.name == "mma_a") return mma_a_layout(shape, element_bytes, grid, error);
  if (call.name == "mma_b") return mma_b_layout(shape, element_bytes, grid, error);
  return unknown(text, false, error);
}

/// Returns an extent that every fragment of these warps takes along either axis; more of them would only add registers.
std::int64_t min_extent(Call const& fragment) {
  std::int64_t extent = fragment.arguments.empty() ? 4 * warp_lanes : warp_lanes;
  for (std::string_view argument : fragment.arguments)
    if (auto const count = number(argument); count && *count <= 64) extent *= *count;
  return extent;
}

/// Finds rows(f) or columns(f): the layout of fragment f when the other axis is reduced to extent 1 or dropped.
Layout const* slice_by_name(Call const& call, std::string_view text, Extents const& shape, int element_bytes,
                            std::string& error) {
  if (call.arguments.size() != 1) return unknown(text, false, error);
  auto const inner = read_call(call.arguments[0]);
  if (!inner) return unknown(text, false, error);
  int const dropped = call.name == "rows" ? 1 : 0;
  bool const keeps_axis = shape.size() == 2;
  if (shape.size() < 1 || shape.size() > 2 || (keeps_axis && shape[dropped] != 1)) {
    error = fmt::format("{}: a tile of one axis or with an axis {} of extent 1 is needed, found {}", call.name, dropped,
                        shape_text(shape));
    return nullptr;
  }
  Extents whole = keeps_axis ? shape : Extents{shape[0], shape[0]};
  whole[dropped] = min_extent(*inner);
  Layout const* fragment = fragment_by_name(*inner, call.arguments[0], whole, element_bytes, error);
  if (fragment == nullptr) return nullptr;
  return keeps_axis ? fragment->collapsed(dropped) : fragment->sliced(dropped);
}

/// Finds folded(f): the layout after a fold of fragment f along its columns.
Layout const* folded_by_name(Call const& call, std::string_view text, Extents const& shape, int element_bytes,
                             std::string& error) {
  auto const inner = call.arguments.size() == 1 ? read_call(call.arguments[0]) : std::nullopt;
  if (!inner || shape.size() != 2) return unknown(text, false, error);
  Extents whole = shape;
  whole[1] = min_extent(*inner);
  Layout const* const fragment = fragment_by_name(*inner, call.arguments[0], whole, element_bytes, error);
  if (fragment == nullptr) return nullptr;
  Layout const* const layout = folded(*fragment, 1);
  if (layout != nullptr && layout->shape() == shape) return layout;
  error = "folded: " + std::string(text) + " has " +
          (layout == nullptr ? "no fold along columns" : "the shape " + shape_text(layout->shape())) + ", not " +
          shape_text(shape);
  return nullptr;
}

std::string text_of_shared(Layout const& layout, Element element) {
  auto const form = shared_form(layout, bytes(element));
  if (!form) return layout.text();
  if (form->swizzle_bytes == 0) return form->transposed ? "dense_t" : "dense";
  return fmt::format("{}({})", form->transposed ? "swizzled_t" : "swizzled", form->swizzle_bytes);
}

/// Returns the arguments of a fragment's name; the usual grid needs none.
std::string arguments_of(WarpGrid grid) {
  if (grid == WarpGrid{4, 1}) return {};
  std::string text = fmt::format("({}", grid.rows);
  if (grid.columns > 1 || grid.copies > 1) text += fmt::format(",{}", grid.columns);
  if (grid.copies > 1) text += fmt::format(",{}", grid.copies);
  return text + ")";
}

/// Lists the names of fragments of so many warps, the usual ones first.
std::vector<std::string> fragment_names(int warps, bool operand_first) {
  std::vector<std::string> names;
  std::vector<WarpGrid> grids = warp_grids(warps);
  std::reverse(grids.begin(), grids.end());  // few columns first
  auto const add_warpgroups = [&](bool of_columns) {
    for (WarpGrid const grid : grids) {
      if (grid.rows % 4 != 0 || grid.copies > 1 || (grid.columns > 1) != of_columns) continue;
      for (bool const operand : {operand_first, !operand_first})
        names.push_back((operand ? "wgmma_a" : "wgmma") + arguments_of(grid));
    }
  };
  auto const add_warps = [&](bool of_copies) {
    for (char const* kind : {"mma", "mma_a", "mma_b"})
      for (WarpGrid const grid : grids)
        if ((grid.copies > 1) == of_copies) names.push_back(kind + arguments_of(grid));
  };
  add_warpgroups(false);
  add_warps(false);
  add_warpgroups(true);
  add_warps(true);
  return names;
}

/// Finds the text for a tile of the layout's own shape.
std::string find_text(Layout const& layout, Element element, bool shared) {
  if (shared) return text_of_shared(layout, element);
  Extents const& shape = layout.shape();
  int const warps = layout.warps();
  if (layout.lanes() != warp_lanes || warps > 64 || shape.size() < 1 || shape.size() > 2) return layout.text();
  bool const operand_first = bytes(element) == 2 && shape.size() == 2 && shape[1] > 1;
  std::vector<std::string> const names = fragment_names(warps, operand_first);
  auto const found = [&](std::string const& before, std::string const& after) -> std::string {
    std::string ignored;
    for (std::string const& name : names)
      if (std::string text = before + name + after; named_layout(text, shape, element, false, ignored) == &layout)
        return text;
    return {};
  };
  bool const one_axis = shape.size() == 1;
  if (!one_axis)
    if (std::string text = found("", ""); !text.empty()) return text;
  for (int dropped : {1, 0})
    if (one_axis || shape[dropped] == 1)
      if (std::string text = found(dropped == 1 ? "rows(" : "columns(", ")"); !text.empty()) return text;
  if (!one_axis)
    if (std::string text = found("folded(", ")"); !text.empty()) return text;
  return layout.text();
}

}  // namespace

Layout const* named_layout(std::string_view text, Extents const& shape, Element element, bool shared,
                           std::string& error) {
  text = trimmed(text);
  if (text.empty() || text.front() == '[') return Layout::parse(text, error);
  if (shape.product() > max_elements) {
    error = "layout: a tile of " + shape_text(shape) + " is too large for a named layout";
    return nullptr;
  }
  std::string_view const whole = text;
  Extents own = shape;
  if (std::size_t const of = text.find(" of "); of != std::string_view::npos) {
    own = {};
    std::int64_t elements = 1;
    bool const read = split(text.substr(of + 4), 'x', [&](std::string_view part) {
      auto const extent = number(part);
      if (!extent || own.size() == max_rank || *extent > max_elements / elements) return false;
      own.push_back(*extent);
      elements *= *extent;
      return true;
    });
    if (!read) return unknown(whole, shared, error);
    text = trimmed(text.substr(0, of));
  }
  auto const call = read_call(text);
  if (!call) return unknown(whole, shared, error);
  if (shared) return shared_by_name(*call, whole, own, bytes(element), error);
  if (call->name == "rows" || call->name == "columns") return slice_by_name(*call, whole, own, bytes(element), error);
  if (call->name == "folded") return folded_by_name(*call, whole, own, bytes(element), error);
  return fragment_by_name(*call, whole, own, bytes(element), error);
}

std::string layout_text(Layout const& layout, Extents const& shape, Element element, bool shared) {
  static constinit support::Lock mutex;
  static constinit support::Lasting<std::map<std::tuple<Layout const*, int, bool>, std::string>> names;
  auto& known = names.get();
  // Names of register layouts distinguish 16-bit elements from others, those of shared layouts every size.
  std::tuple const key(&layout, bytes(element), shared);
  std::string text;
  {
    std::scoped_lock const lock(mutex);
    if (auto const found = known.find(key); found != known.end()) text = found->second;
  }
  if (text.empty()) {
    text = find_text(layout, element, shared);
    std::scoped_lock const lock(mutex);
    known.emplace(key, text);
  }
  if (text.front() == '[' || layout.shape() == shape) return text;
  return text + " of " + shape_text(layout.shape());
}

}  // namespace tegula::layout

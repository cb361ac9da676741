#include "target/wgmma_operand.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "layout/element_offsets.hpp"
#include "layout/shared_layouts.hpp"
#include "support/locks.hpp"
#include "tegula/target/target_info.hpp"

namespace tegula::target {
namespace {

/// Shows one operand by (m or n, k), for either order of its axes.
class View {
 public:
  View(Extents const& view, layout::ElementOffsets const& offsets, int element_bytes, WgmmaRole role,
       Extents const& origin)
      : offsets_(offsets), element_bytes_(element_bytes), mn_axis_(role == WgmmaRole::a ? 0 : 1), origin_(origin) {
    mn_ = view[mn_axis_];
    k_ = view[1 - mn_axis_];
  }
  [[nodiscard]] std::int64_t mn() const { return mn_; }
  [[nodiscard]] std::int64_t k() const { return k_; }
  /// Returns the byte offset in the tile.
  [[nodiscard]] layout::ByteOffset at(std::int64_t mn, std::int64_t k) const {
    Extents where = origin_;
    int const first = where.size() - 2;
    where[first + mn_axis_] += mn;
    where[first + 1 - mn_axis_] += k;
    return layout::in_bytes(offsets_.at(where), element_bytes_);
  }

 private:
  layout::ElementOffsets const& offsets_;
  int element_bytes_;
  int mn_axis_;
  Extents origin_;
  std::int64_t mn_ = 0, k_ = 0;
};

/// Returns the bytes from an instruction's start to its element, before the XOR: the canonical layouts of the PTX ISA.
std::int64_t canonical(WgmmaOperand const& operand, int element_bytes, std::int64_t mn, std::int64_t k) {
  std::int64_t const width = operand.swizzle_bytes;
  std::int64_t const along = (operand.mn_major ? mn : k) * element_bytes;  // bytes along the contiguous axis
  std::int64_t const across = operand.mn_major ? k : mn;
  // A group has 8 rows of `width` bytes. The two offsets lead to the next group each way; the unswizzled MN-major form
  // exchanges their roles.
  std::int64_t const next_rows = operand.mn_major && width == 16 ? operand.leading : operand.stride;
  std::int64_t const next_columns = operand.mn_major && width == 16 ? operand.stride : operand.leading;
  return across % 8 * width + across / 8 * next_rows + along % width + along / width * next_columns;
}

/// Returns the byte that a mode addresses for an element. The XOR is its own inverse: the element at an address is
/// addressed by the XORed one.
std::int64_t addressed(View const& view, int swizzle_bytes, std::int64_t mn, std::int64_t k) {
  return layout::swizzled_address(view.at(mn, k), swizzle_bytes).count;
}

/// Sets the offsets to the next 8 rows and the next column block, where an instruction has more than one.
void set_offsets(WgmmaOperand& operand, View const& view, int element_bytes) {
  auto const at = [&](std::int64_t row, std::int64_t column) {
    return operand.mn_major ? addressed(view, operand.swizzle_bytes, column, row)
                            : addressed(view, operand.swizzle_bytes, row, column);
  };
  std::int64_t const start = at(0, 0);
  std::int64_t const block = operand.swizzle_bytes / element_bytes;  // elements of the contiguous axis in one row
  std::int64_t const rows = operand.mn_major ? operand.k_per_step : operand.mn_per_step;
  std::int64_t const columns = operand.mn_major ? operand.mn_per_step : operand.k_per_step;
  std::int64_t const next_rows = rows > 8 ? at(8, 0) - start : 16;
  std::int64_t const next_columns = columns > block ? at(0, block) - start : 16;
  bool const exchanged = operand.mn_major && operand.swizzle_bytes == 16;
  operand.stride = exchanged ? next_columns : next_rows;
  operand.leading = exchanged ? next_rows : next_columns;
}

/// Finds the first element that the operand's instructions would read from another place than the view has it; empty:
/// none.
Finding misread_element(WgmmaOperand const& operand, View const& view, int element_bytes) {
  int const swizzle_bytes = operand.swizzle_bytes;
  std::int64_t const start = addressed(view, swizzle_bytes, 0, 0);
  std::int64_t const first_row = swizzle_bytes == 16 ? layout::swizzle_alignment(16) : swizzle_bytes;
  for (std::int64_t mn = 0; mn < view.mn(); ++mn)
    for (std::int64_t k = 0; k < view.k(); ++k) {
      std::int64_t const step_start = start + operand.mn_starts[static_cast<std::size_t>(mn / operand.mn_per_step)] +
                                      operand.k_starts[static_cast<std::size_t>(k / operand.k_per_step)];
      std::int64_t const within = canonical(operand, element_bytes, mn % operand.mn_per_step, k % operand.k_per_step);
      layout::ByteOffset const read = layout::swizzled_address(layout::ByteOffset{step_start + within}, swizzle_bytes);
      // A start in another row of the pattern than the first would need the base offset field.
      if (step_start % 16 != 0 || step_start % layout::swizzle_alignment(swizzle_bytes) >= first_row)
        return Finding(finding::mode_start, step_start, layout::swizzle_alignment(swizzle_bytes));
      if (read != view.at(mn, k)) return Finding(finding::mode_reads, read.count, k, mn, view.at(mn, k).count);
    }
  return {};
}

/// Returns the operand if this mode reads the view, else the reason.
std::optional<WgmmaOperand> with_mode(View const& view, int element_bytes, int swizzle_bytes, bool mn_major,
                                      std::int64_t mn_per_step, Finding& why) {
  WgmmaOperand operand;
  operand.swizzle_bytes = swizzle_bytes;
  operand.mn_major = mn_major;
  operand.mn_per_step = static_cast<int>(mn_per_step);
  operand.k_per_step = 32 / element_bytes;
  set_offsets(operand, view, element_bytes);
  for (std::int64_t offset : {operand.stride, operand.leading})
    if (offset < 0 || offset % 16 != 0 || offset >= 1 << 18) {
      why = Finding(finding::mode_distance, offset);
      return std::nullopt;
    }
  std::int64_t const start = addressed(view, swizzle_bytes, 0, 0);
  for (std::int64_t k = 0; k < view.k(); k += operand.k_per_step)
    operand.k_starts.push_back(addressed(view, swizzle_bytes, 0, k) - start);
  for (std::int64_t mn = 0; mn < view.mn(); mn += mn_per_step)
    operand.mn_starts.push_back(addressed(view, swizzle_bytes, mn, 0) - start);
  why = misread_element(operand, view, element_bytes);
  return why.empty() ? std::optional(std::move(operand)) : std::nullopt;
}

/// Returns the place in the tile at which the view begins, one index per axis of the tile.
Extents place_of_view(Extents const& origin, int rank) {
  Extents first = origin;
  while (first.size() < rank) first.insert(0, 0);
  return first;
}

/// Says where the view sticks out of its tile; empty: it lies inside.
Finding outside_of_tile(Extents const& view_shape, Extents const& first, layout::Layout const& memory) {
  for (int a = 0; a < memory.rank(); ++a) {
    int const axis = a - (memory.rank() - 2);
    if (first[a] < 0 || first[a] + (axis < 0 ? 1 : view_shape[axis]) > memory.shape()[a])
      return Finding(finding::operand_origin, first[a], a, layout::shape_text(memory.shape()));
  }
  return {};
}

/// Says why instructions do not cover the view in whole steps; empty: they do.
Finding uncovered(View const& view, std::string const& shape, bool is_a, int element_bytes, std::int64_t mn_per_step) {
  std::int64_t const k_per_step = isa::wgmma.depth_bytes / element_bytes;
  if (view.k() % k_per_step != 0) return Finding(finding::operand_depth, shape, view.k(), k_per_step);
  if (!is_a && (mn_per_step % isa::wgmma.column_step != 0 || mn_per_step > isa::wgmma.max_columns))
    return Finding(finding::operand_columns, shape, mn_per_step);
  if (view.mn() % mn_per_step != 0)
    return Finding(finding::operand_parts, shape, view.mn(), is_a ? "rows" : "columns", mn_per_step);
  return {};
}

/// Finds the major order and the mode that read the view: the contiguous axis decides the order, the rest the mode.
std::optional<WgmmaOperand> with_any_mode(View const& view, layout::Layout const& memory, int element_bytes, bool is_a,
                                          std::int64_t mn_per_step, Finding& why) {
  layout::ByteOffset const one = layout::in_bytes(layout::ElementOffset{1}, element_bytes);
  bool const k_major = view.at(0, 1) - view.at(0, 0) == one;
  bool const mn_major = view.at(1, 0) - view.at(0, 0) == one;
  bool const transposes = element_bytes == 2;
  char const* const mn = is_a ? "M" : "N";
  if (!k_major && !mn_major) {
    why = Finding(finding::operand_strided, mn, memory.text());
    return std::nullopt;
  }
  if (!k_major && !transposes) {
    why = Finding(finding::operand_transposed, mn, element_bytes);
    return std::nullopt;
  }
  // The first mode fails with the most specific reason: try the layout's own first.
  auto const form = layout::shared_form(memory, element_bytes);
  int const own = form && form->swizzle_bytes > 0 ? form->swizzle_bytes : 16;
  Finding reason;  // of the first mode, and its span
  int span = 0;
  for (bool transposed : {false, true}) {
    if (transposed ? !mn_major || !transposes : !k_major) continue;
    for (int swizzle : {own, 128, 64, 32, 16}) {
      Finding found;
      if (auto operand = with_mode(view, element_bytes, swizzle, transposed, mn_per_step, found)) return operand;
      if (reason.empty()) reason = found, span = swizzle;
    }
  }
  why = Finding(finding::operand_mode, span == 16 ? std::string("none") : fmt::format("{} bytes", span), reason);
  return std::nullopt;
}

/// Finds wgmma_operand for one extent of N.
std::optional<WgmmaOperand> find_operand(Extents const& view_shape, layout::Layout const& memory, int element_bytes,
                                         WgmmaRole role, Finding& why, std::int64_t n_per_step, Extents const& origin) {
  bool const is_a = role == WgmmaRole::a;
  auto const fail = [&](Finding const& found) -> std::optional<WgmmaOperand> {
    why = Finding(is_a ? finding::operand_a : finding::operand_b, found);
    return std::nullopt;
  };
  if (view_shape.size() != 2) return fail(Finding(finding::operand_axes, view_shape.size()));
  if (element_bytes != 1 && element_bytes != 2 && element_bytes != 4)
    return fail(Finding(finding::operand_bytes, element_bytes));
  std::string error;
  layout::ElementOffsets const* offsets =
      fits(view_shape, memory, error) ? layout::ElementOffsets::get(memory, error) : nullptr;
  if (offsets == nullptr) {
    why = Finding(finding::stated, error);
    return std::nullopt;
  }
  Extents const first = place_of_view(origin, memory.rank());
  if (Finding const found = outside_of_tile(view_shape, first, memory); !found.empty()) return fail(found);
  View const view(view_shape, *offsets, element_bytes, role, first);
  std::int64_t const mn_per_step = is_a ? isa::wgmma.rows : n_per_step;
  Finding const found = uncovered(view, layout::shape_text(view_shape), is_a, element_bytes, mn_per_step);
  if (!found.empty()) return fail(found);
  Finding reason;
  auto operand = with_any_mode(view, memory, element_bytes, is_a, mn_per_step, reason);
  return operand ? operand : fail(reason);
}

}  // namespace

std::int64_t max_wgmma_columns(int cta_warps, TargetInfo const& target) {
  MatrixInstruction const& wgmma = target.wgmma;
  std::int64_t const accumulators = target.registers_at_start(cta_warps) - wgmma.extra_registers;
  std::int64_t const columns = accumulators * target.threads_per_group() / wgmma.rows;
  return std::clamp<std::int64_t>(columns / wgmma.column_step * wgmma.column_step, wgmma.column_step,
                                  wgmma.max_columns);
}

std::optional<WgmmaOperand> wgmma_operand(Extents const& view, layout::Layout const& memory, int element_bytes,
                                          WgmmaRole role, Finding& why, int n_per_step, Extents const& origin) {
  // Looking at every element costs; verifier, simulator and lowering ask the same again.
  using Key = std::tuple<layout::Layout const*, int, WgmmaRole, int, std::vector<std::int64_t>>;
  static constinit support::Lock mutex;
  static constinit support::Lasting<std::map<Key, WgmmaOperand>> operands;
  std::map<Key, WgmmaOperand>& known = operands.get();
  std::vector<std::int64_t> extents(view.begin(), view.end());
  extents.insert(extents.end(), origin.begin(), origin.end());
  Key key(&memory, element_bytes, role, n_per_step, std::move(extents));
  {
    std::scoped_lock const lock(mutex);
    if (auto const found = known.find(key); found != known.end()) return found->second;
  }
  std::optional<WgmmaOperand> operand;
  if (role == WgmmaRole::a || n_per_step > 0 || view.size() != 2) {
    operand = find_operand(view, memory, element_bytes, role, why, n_per_step, origin);
  } else {
    std::int64_t const columns = view[1];
    Finding first;
    for (std::int64_t parts = (columns + isa::wgmma.max_columns - 1) / isa::wgmma.max_columns;
         parts * 8 <= columns && !operand; ++parts) {
      if (columns % (parts * 8) != 0) continue;
      Finding error;
      operand = find_operand(view, memory, element_bytes, role, error, columns / parts, origin);
      if (first.empty()) first = error;
    }
    if (!operand && first.empty()) find_operand(view, memory, element_bytes, role, first, columns, origin);
    if (!operand) why = first;
  }
  if (!operand) return std::nullopt;
  std::scoped_lock const lock(mutex);
  return known.emplace(std::move(key), std::move(*operand)).first->second;
}

std::optional<WgmmaColumns> wgmma_columns(Extents const& view, layout::Layout const& memory, int element_bytes,
                                          bool integers, std::int64_t max_columns, int groups, Finding& why) {
  std::int64_t const columns = view[1];
  Finding first;
  for (std::int64_t parts = (columns + max_columns - 1) / max_columns; parts * 8 <= columns; ++parts) {
    std::int64_t const each = columns / parts;
    if (columns % (parts * 8) != 0 || parts % groups != 0) continue;
    if (integers && each > 24 && each % 16 != 0) continue;  // the PTX ISA's table of shapes
    Finding found;
    auto operand = wgmma_operand(view, memory, element_bytes, WgmmaRole::b, found, static_cast<int>(each));
    auto const own = static_cast<std::size_t>(parts / groups);
    bool even = operand.has_value();
    for (std::size_t i = own; even && i < operand->mn_starts.size(); ++i)
      even = operand->mn_starts[i] == operand->mn_starts[i - own] + operand->mn_starts[own];
    if (even) return WgmmaColumns{*operand, parts};
    if (first.empty()) first = found;
  }
  why = first;
  return std::nullopt;
}

std::optional<WgmmaOperand> wgmma_operand(Extents const& view, layout::Layout const& memory, int element_bytes,
                                          WgmmaRole role, std::string& why, int n_per_step, Extents const& origin) {
  Finding finding;
  auto operand = wgmma_operand(view, memory, element_bytes, role, finding, n_per_step, origin);
  if (!operand) why = finding.text();
  return operand;
}

}  // namespace tegula::target

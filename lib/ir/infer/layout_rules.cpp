#include "ir/infer/layout_rules.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "layout/element_offsets.hpp"
#include "layout/fragment_layouts.hpp"
#include "layout/layout_names.hpp"
#include "layout/shared_access.hpp"
#include "layout/shared_layouts.hpp"
#include "ir/memory/accesses.hpp"
#include "ir/text/text.hpp"
#include "target/tma_copies.hpp"
#include "target/wgmma_operand.hpp"

namespace tegula::ir {
namespace {

/// Returns a message of the layout functions without the instruction's name, which the op's own replaces.
std::string without_prefix(std::string const& text, std::string_view prefix) {
  return text.rfind(prefix, 0) == 0 ? text.substr(prefix.size()) : text;
}

/// Checks that the buffer under a view begins at a multiple of the pattern: the swizzle XORs absolute addresses.
std::string buffer_aligned(Value const& view, std::int64_t alignment) {
  Value const* at = &view;
  Op const* producer = at->defining_op();
  while (producer != nullptr && (producer->is<ViewOp>() || producer->is<TransViewOp>())) {
    at = producer->in("source");
    producer = at->defining_op();
  }
  if (producer == nullptr || !producer->is<BufferAllocOp>() || producer->as<BufferAllocOp>().align % alignment == 0)
    return {};
  return fmt::format("{} is aligned to {} bytes, but its layout needs align = {} here", to_string(*at),
                     producer->as<BufferAllocOp>().align, alignment);
}

std::string buffer_without_layout(Op const& op) {
  auto const wrong = [](Value const& value) {
    bool const bare = value.type().is_buffer() && value.type().layout() == nullptr;
    return bare ? to_string(value) + " is " + to_string(value.type()) + ", a buffer without a layout; say dense or " +
                      "swizzled(128), for example"
                : std::string();
  };
  for (Value const* operand : op.operands())
    if (std::string text = wrong(*operand); !text.empty()) return text;
  for (int i = 0; i < op.result_count(); ++i)
    if (std::string text = wrong(*op.result(i)); !text.empty()) return text;
  return {};
}

std::string view_moves(Op const& op) {
  Type const& source = op.in<ViewOp>("source")->type();
  Type const& view = op.result()->type();
  if (!source.is_buffer()) return {};
  auto const indices = op.all<ViewOp>("offsets");
  bool const at_start = std::all_of(indices.begin(), indices.end(), [](Value const* offset) {
    Op const* const producer = offset->defined_by<ConstantOp>();
    return producer != nullptr && producer->as<ConstantOp>().value.bits == 0;
  });
  std::string why;
  layout::ElementOffsets const* const offsets = layout::ElementOffsets::get(*source.layout(), why);
  if (offsets == nullptr || (!at_start && !offsets->movable(view.shape(), why)))
    return without_prefix(without_prefix(why, "view: "), "layout: ");
  return {};
}

std::string copy_fits(Value const& map, Value const& view) {
  Op const* const producer = tensor_map_of(map);
  if (producer == nullptr) return {};
  target::TmaPlan const plan =
      target::tma_copies(map.type().shape(), swizzle_bytes(producer->as<TensorMapOp>().swizzle), view.type().shape(),
                         *view.type().layout(), bytes(view.type().element()));
  if (!plan.legal()) return plan.broken.front().sentence();
  return buffer_aligned(view, plan.alignment);
}

std::string bulk_fits(Type const& view) {
  std::string why;
  layout::ElementOffsets const* const offsets = layout::ElementOffsets::get(*view.layout(), why);
  if (offsets == nullptr) return without_prefix(why, "layout: ");
  // Adjacent bytes, row by row: the last element is as far as there are elements before it.
  std::int64_t next = 0;
  for (std::int64_t n = 0; n < view.elements(); ++n) {
    Extents where = view.shape();
    std::int64_t rest = n;
    for (int a = where.size() - 1; a >= 0; --a) {
      where[a] = rest % view.shape()[a];
      rest /= view.shape()[a];
    }
    if (offsets->at(where).count != next++)
      return "a bulk copy moves adjacent bytes in row-major order, but the view is " + to_string(view);
  }
  return {};
}

std::string fragment_is(char const* subject, Type const& type, layout::Layout const* expected, std::string const& why) {
  if (expected != nullptr && type.layout() == expected) return {};
  return std::string(subject) + " is " + to_string(type) +
         (expected != nullptr
              ? ", not in the layout " + layout::layout_text(*expected, type.shape(), type.element(), false)
              : "; " + why);
}

std::string product_fits(Op const& op) {
  Value const &lhs = *op.lhs(), &rhs = *op.rhs();
  Type const &a = lhs.type(), &b = rhs.type(), &d = op.result()->type();
  if (d.layout() == nullptr) return "the result needs a layout";
  int const warps = d.layout()->warps();
  std::string why;
  layout::WarpGrid grid = layout::wgmma_grid(d.shape(), d.layout(), warps);
  if (grid.rows == 0) grid = {warps, 1};  // to say what is wrong
  layout::Layout const* const accumulator = layout::wgmma_layout(d.shape(), grid, why);
  if (std::string wrong = fragment_is("the result", d, accumulator, why); !wrong.empty()) return wrong;
  if (a.is_tile()) {
    layout::Layout const* const fragments = layout::wgmma_a_layout(a.shape(), bytes(a.element()), grid, why);
    if (std::string wrong = fragment_is("lhs", a, fragments, why); !wrong.empty()) return wrong;
  } else {
    auto const rows = target::wgmma_operand(a.shape(), *a.layout(), bytes(a.element()), target::WgmmaRole::a, why);
    if (!rows) return without_prefix(why, "wgmma: ");
    if (std::string wrong = buffer_aligned(lhs, layout::swizzle_alignment(rows->swizzle_bytes)); !wrong.empty())
      return wrong;
  }
  auto const columns = target::wgmma_operand(b.shape(), *b.layout(), bytes(b.element()), target::WgmmaRole::b, why);
  if (!columns) return without_prefix(why, "wgmma: ");
  return buffer_aligned(rhs, layout::swizzle_alignment(columns->swizzle_bytes));
}

std::string warp_product_fits(Op const& op) {
  Type const &a = op.lhs()->type(), &b = op.rhs()->type(), &d = op.result()->type();
  int const warps = d.layout()->warps();
  std::string why, first;
  for (layout::WarpGrid const grid : layout::warp_grids(warps)) {
    layout::Layout const* const accumulator = layout::mma_layout(d.shape(), grid, why);
    if (accumulator == nullptr || accumulator != d.layout()) continue;
    int const size = bytes(a.element());
    for (int const run : layout::mma_runs(size, a.shape()[1])) {
      std::string wrong = fragment_is("lhs", a, layout::mma_a_layout(a.shape(), size, grid, why, run), why);
      if (wrong.empty()) wrong = fragment_is("rhs", b, layout::mma_b_layout(b.shape(), size, grid, why, run), why);
      if (wrong.empty()) return {};
      if (first.empty()) first = wrong;
    }
  }
  return first.empty() ? "the accumulator is " + to_string(d) + ", not in a layout mma(rows,columns)" : first;
}

/// Checks that threads find the elements of a tile in memory by sums and XORs over register, lane and warp.
std::string tile_addresses(Type const& view, Type const& tile) {
  std::string why;
  if (tile.layout() == nullptr || view.layout() == nullptr) return {};
  return layout::AccessMap::get(*tile.layout(), *view.layout(), why) ? "" : without_prefix(why, "layout: ");
}

}  // namespace

std::string why_not_in_registers(Extents const& shape, layout::Layout const& layout) {
  for (layout::LayoutInput const& in : layout.inputs())
    if (in.dim != layout::Dim::reg && in.dim != layout::Dim::lane && in.dim != layout::Dim::warp &&
        in.dim != layout::Dim::block)
      return "a layout of registers is a map from register, lane, warp and block, not from " +
             std::string(name(in.dim));
  for (int i = 0; i < layout.rank(); ++i)
    if (layout.outputs()[static_cast<std::size_t>(i)] != layout::axis_dim(i))
      return "the layout does not lead to the axes";
  if (layout.shape() != shape) return "the layout is for a tile of " + layout::shape_text(layout.shape());
  if (layout.lanes() != warp_lanes) return fmt::format("the layout has {} lanes, not {}", layout.lanes(), warp_lanes);
  if (!layout.surjective()) return "the layout leaves elements without a register";
  return {};
}

std::string why_not_in_memory(Extents const& shape, layout::Layout const& layout) {
  std::string why;
  if (!fits(shape, layout, why) || layout::ElementOffsets::get(layout, why) == nullptr)
    return without_prefix(without_prefix(why, "view: "), "layout: ");
  return {};
}

std::string why_layouts_differ(Op const& op) {
  if (is_asynchronous(op))
    if (std::string missing = buffer_without_layout(op); !missing.empty()) return missing;
  if (op.is<ViewOp>()) return view_moves(op);
  if (op.is<WgmmaOp>()) return product_fits(op);
  if (op.is<MmaOp>()) return warp_product_fits(op);
  Value const* const view = view_of(op);
  if (view == nullptr) return {};
  if (is_asynchronous(op)) return op.info().names("map") ? copy_fits(*op.in("map"), *view) : bulk_fits(view->type());
  for (Effect const& effect : op.info().effects)
    if (Value const* const registers = registers_of(op, effect); registers != nullptr)
      return tile_addresses(view->type(), registers->type());
  return {};
}

}  // namespace tegula::ir

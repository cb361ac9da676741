#include "transform/common/dot_paths.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <tuple>

#include "layout/shared_access.hpp"
#include "layout/shared_layouts.hpp"
#include "target/wgmma_operand.hpp"
#include "transform/common/role_registers.hpp"

namespace tegula::transform {
namespace {

using ir::Op;
using ir::Type;
using ir::Value;
using layout::Layout;
using target::Finding;
namespace finding = target::finding;

constexpr std::int64_t max_operand_registers = 128;  ///< of a thread, beside its part of the result

/// Explains why the tile that a product reads is not in shared memory.
Finding path_of(Value const& tile) {
  Value const* at = &tile;
  for (; at->defining_op() != nullptr && at->defining_op()->operand_count() > 0;
       at = at->defining_op()->operands().front()) {
    Op const& op = *at->defining_op();
    if (op.is<ir::LoadOp>() && !op.as<ir::LoadOp>().by_pointer.empty())
      return Finding(finding::rhs_by_pointer, op.as<ir::LoadOp>().by_pointer.view());
    if (op.block_count() > 0 || op.is<ir::BufferLoadOp>()) break;
  }
  bool const handed = at->defining_op() == nullptr || at->defining_op()->block_count() > 0;
  return Finding(handed ? finding::rhs_handed : finding::rhs_computed);
}

}  // namespace

Finding no_wgmma(Op const& dot, StoredOperands const& stored) {
  auto const [stored_right, stored_left] = stored;
  Type const& a = dot.lhs()->type();
  std::int64_t const columns = dot.rhs()->type().shape()[1];
  if (Finding why = no_tensor_core(dot); !why.empty()) return why;
  if (a.element() == Element::f64) return Finding(finding::no_f64);
  if (is_i8_or_u8(a.element()) && columns > 24 && columns % 16 != 0) return Finding(finding::i8_columns, columns);
  if (a.shape()[0] % isa::wgmma.rows != 0) return Finding(finding::rows, a.shape()[0]);
  Finding why;
  FetchedOperand const left = fetched_operand(*dot.lhs()), right = fetched_operand(*dot.rhs());
  if (right.view == nullptr && stored_right == nullptr) return path_of(*dot.rhs());
  Type const rhs = stored_right == nullptr
                       ? view_type(right)
                       : Type::shared(dot.rhs()->type().element(), dot.rhs()->type().shape(), stored_right);
  if (!target::wgmma_operand(rhs.shape(), *rhs.layout(), bytes(rhs.element()), target::WgmmaRole::b, why)) return why;
  if (left.view == nullptr && stored_left == nullptr) return {};
  Type const lhs =
      stored_left == nullptr ? view_type(left) : Type::shared(a.element(), a.shape(), stored_left->transposed({1, 0}));
  if (!target::wgmma_operand(lhs.shape(), *lhs.layout(), bytes(lhs.element()), target::WgmmaRole::a, why)) return why;
  return {};
}

namespace {

/// Tells whether warps load an operand in this layout from where it lies. An operand that is not a copied tile comes to
/// them in some other way.
bool loads_directly(Value const& operand, Layout const* layout) {
  FetchedOperand const source = fetched_operand(operand);
  std::string ignored;
  return source.view == nullptr || layout::AccessMap::get(*layout, *view_type(source).layout(), ignored).has_value();
}

}  // namespace

Finding no_tensor_core(Op const& dot) {
  if (dot.lhs()->type().element() == Element::f32 && dot.as<ir::DotOp>().precision == ir::DotPrecision::full)
    return Finding(finding::full_f32);
  return {};
}

StoredOperands stored_operands(Op const& dot) {
  StoredOperands stored;
  std::string ignored;
  if (Finding const path = path_of(*dot.rhs());
      fetched_operand(*dot.rhs()).view == nullptr && (path.is(finding::rhs_computed) || path.is(finding::rhs_handed))) {
    Type const& tile = dot.rhs()->type();
    int const size = bytes(tile.element());
    auto const& in_rows = size == 2 ? layout::swizzled_layout : layout::swizzled_transposed_layout;  // K adjacent
    for (int const swizzle : {128, 64, 32, 16})
      if (Layout const* const layout = in_rows(tile.shape(), size, swizzle, ignored);
          stored.right == nullptr && layout != nullptr && no_wgmma(dot, {layout, nullptr}).empty())
        stored.right = layout;
  }
  Op const* const turned = dot.lhs()->defining_op();
  if (turned == nullptr || !turned->is<ir::TransOp>() || fetched_operand(*dot.lhs()).view != nullptr) return stored;
  Type const& tile = turned->operand()->type();
  for (int const swizzle : {128, 64, 32, 16})
    if (Layout const* const layout = layout::swizzled_layout(tile.shape(), bytes(tile.element()), swizzle, ignored);
        stored.left == nullptr && layout != nullptr && no_wgmma(dot, {stored.right, layout}).empty())
      stored.left = layout;
  return stored;
}

std::vector<layout::WarpGrid> wgmma_grids(Op const& dot, StoredOperands const& stored, int warps, int cta_warps,
                                          TargetInfo const& target, Finding& why) {
  std::vector<layout::WarpGrid> grids;
  Extents const& d = dot.result()->type().shape();
  Type const &a = dot.lhs()->type(), &b = dot.rhs()->type();
  FetchedOperand const right = fetched_operand(*dot.rhs());
  bool const from_registers = fetched_operand(*dot.lhs()).view == nullptr && stored.left == nullptr;
  std::string ignored;
  for (layout::WarpGrid const grid : layout::warp_grids(warps)) {
    if (grid.copies > 1 || (grid.columns > 1 && warps % target.warps_per_group != 0)) continue;
    Finding lack;
    if (layout::wgmma_layout(d, grid, ignored) == nullptr)
      lack = Finding(finding::accumulator_layout, layout::shape_text(d), warps);
    else if (from_registers && layout::wgmma_a_layout(a.shape(), bytes(a.element()), grid, ignored) == nullptr)
      lack = Finding(finding::left_layout, layout::shape_text(a.shape()), bytes(a.element()), warps);
    if (why.empty()) why = lack;
    if (!lack.empty()) continue;
    if (grid.columns > 1) {
      Layout const& memory = stored.right != nullptr ? *stored.right : *view_type(right).layout();
      Finding none;
      if (!target::wgmma_columns(b.shape(), memory, bytes(b.element()), is_i8_or_u8(b.element()),
                                 target::max_wgmma_columns(cta_warps, target), grid.columns, none))
        continue;
    }
    grids.insert(grids.begin(), grid);
  }
  return grids;
}

namespace {

/// Lists the arrangements that mma.sync has, those without copies first.
std::vector<layout::WarpGrid> possible_grids(Op const& dot, int warps) {
  Extents const& shape = dot.result()->type().shape();
  int const size = bytes(dot.lhs()->type().element());
  std::vector<layout::WarpGrid> grids;
  for (layout::WarpGrid const grid : layout::warp_grids(warps)) {
    if (shape[0] % (isa::mma.rows * grid.rows) != 0 || shape[1] % (isa::mma.column_step * grid.columns) != 0) continue;
    std::string ignored;
    if (layout::mma_a_layout(dot.lhs()->type().shape(), size, grid, ignored) != nullptr &&
        layout::mma_b_layout(dot.rhs()->type().shape(), size, grid, ignored) != nullptr)
      grids.push_back(grid);
  }
  std::stable_sort(grids.begin(), grids.end(),
                   [](layout::WarpGrid const& a, layout::WarpGrid const& b) { return a.copies < b.copies; });
  return grids;
}

bool is_direct(Op const& dot, layout::WarpGrid grid) {
  int const size = bytes(dot.lhs()->type().element());
  std::string ignored;
  return loads_directly(*dot.lhs(), layout::mma_a_layout(dot.lhs()->type().shape(), size, grid, ignored)) &&
         loads_directly(*dot.rhs(), layout::mma_b_layout(dot.rhs()->type().shape(), size, grid, ignored));
}

}  // namespace

std::vector<DotGrid> mma_grids(Op const& dot, int warps) {
  Extents const& shape = dot.result()->type().shape();
  std::vector<DotGrid> grids;
  for (layout::WarpGrid const grid : possible_grids(dot, warps))
    grids.push_back({grid, grids.empty() || grid.copies == grids.front().grid.copies ? is_direct(dot, grid) : false});
  auto const key = [&](DotGrid const& one) {
    return std::tuple(one.grid.copies, !one.direct, std::abs(shape[0] / one.grid.rows - shape[1] / one.grid.columns));
  };
  std::stable_sort(grids.begin(), grids.end(), [&](DotGrid const& a, DotGrid const& b) { return key(a) < key(b); });
  return grids;
}

std::string no_mma(Op const& dot, int warps) {
  Type const& a = dot.lhs()->type();
  if (!no_tensor_core(dot).empty()) return "mma neither";
  std::int64_t const depth = isa::mma.depth_bytes / bytes(a.element());
  if (a.shape()[1] % depth != 0)
    return "mma takes multiples of " + std::to_string(depth) + " along K, not " + std::to_string(a.shape()[1]);
  if (possible_grids(dot, warps).empty())
    return "mma takes multiples of 16 rows and 8 columns from each of " + std::to_string(warps) + " warps";
  return {};
}

std::int64_t depth_of_part(Op const& dot, layout::WarpGrid grid) {
  Extents const &a = dot.lhs()->type().shape(), &b = dot.rhs()->type().shape();
  std::int64_t const size = bytes(dot.lhs()->type().element()), lanes = 32, word = 4;
  auto const registers = [&](std::int64_t depth) {  // each warp holds its rows and its columns
    return depth * (a[0] / grid.rows + b[1] / grid.columns) * size / word / lanes;
  };
  auto const can_part = [&](std::int64_t depth) {
    return readable_in_parts(*dot.lhs(), true, depth) && readable_in_parts(*dot.rhs(), false, depth);
  };
  std::int64_t depth = a[1];
  while (registers(depth) > max_operand_registers && depth % (2 * isa::mma.depth_bytes / size) == 0 &&
         can_part(depth / 2))
    depth /= 2;
  return depth;
}

}  // namespace tegula::transform

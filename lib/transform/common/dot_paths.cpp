#include "transform/common/dot_paths.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "ir/memory/source.hpp"
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

bool is_loaded(Value const& tile) {
  Op const* const op = tile.defining_op();
  return op != nullptr &&
         (op->is<ir::LoadOp>() || op->is<ir::ShiftedLoadOp>() || (op->is<ir::TransOp>() && is_loaded(*op->operand())));
}

bool is_transposed(Value const& tile) {
  Op const* const op = tile.defined_by<ir::TransOp>();
  return op != nullptr && op->as<ir::TransOp>().permutation == Extents{1, 0};
}

/// Tells whether threads read a tile from memory.
bool loads(Op const& op) {
  return op.is<ir::BufferLoadOp>() || op.is<ir::LoadOp>() || op.is<ir::ShiftedLoadOp>() || op.is<ir::GatherOp>();
}

/// Ops that are looked at behind an operand, at most: who computes it in more steps has other costs.
constexpr std::size_t max_steps = 64;

/// Tells whether threads compute a tile, element by element, from tiles that they load.
bool is_computed_from_memory(Value const& tile) {
  std::set<std::pair<Value const*, bool>> seen{{&tile, false}};  // with whether something computes behind it
  std::vector<std::pair<Value const*, bool>> open(seen.begin(), seen.end());
  while (!open.empty() && seen.size() < max_steps) {
    auto const [value, computed] = open.back();
    open.pop_back();
    Op const* const op = value->defining_op();
    if (op == nullptr || op->block_count() != 0 || !value->type().is_tile()) continue;
    if (loads(*op) && computed) return true;
    bool const computes = op->is(ir::Family::elementwise);
    if (loads(*op) || (!computes && !ir::moves_elements(*op))) continue;
    for (Value const* operand : op->operands())
      if (seen.emplace(operand, computed || computes).second) open.emplace_back(operand, computed || computes);
  }
  return false;
}

/// Counts the bits in memory of each element of a tile that is computed from loaded ones, which lie adjacent along K.
/// Nothing: it is loaded as it is, or along another axis. `k_last`: K is the tile's last axis.
std::optional<std::int64_t> bits_in_memory(Value const& tile, bool k_last) {
  std::int64_t const elements = tile.type().elements();
  std::optional<std::int64_t> most;
  std::set<std::pair<Value const*, bool>> seen{{&tile, k_last}};
  std::vector<std::pair<Value const*, bool>> open(seen.begin(), seen.end());
  while (!open.empty()) {
    auto const [value, last] = open.back();
    open.pop_back();
    Op const* const op = value->defining_op();
    if (op == nullptr || op->block_count() != 0 || !value->type().is_tile()) continue;
    if (loads(*op)) {
      ir::Type const& type = value->type();
      if (last)
        most = std::max(most.value_or(0), std::max<std::int64_t>(bits(type.element()) * type.elements() / elements, 1));
      continue;
    }
    bool const turned = op->is<ir::TransOp>() && op->as<ir::TransOp>().permutation == Extents{1, 0};
    bool const keeps_axes = op->is(ir::Family::elementwise) || op->is<ir::ReshapeOp>() || op->is<ir::ExpandDimsOp>() ||
                            op->is<ir::ConcatenateOp>();
    if (!turned && !keeps_axes) continue;
    for (Value const* operand : op->operands())
      if (seen.emplace(operand, last != turned).second) open.emplace_back(operand, last != turned);
    if (seen.size() >= max_steps) return std::nullopt;
  }
  return most;
}

/// Returns the run that suits an operand of a product; 0: none does better than another.
std::int64_t wanted_run(Factor operand, bool k_last) {
  constexpr std::int64_t access_bits = 128, most_words = 2;  // of the operand, where it lies in memory swizzled
  auto const own = bits_in_memory(*operand.tile, k_last != operand.turned);
  std::int64_t const size = bits(operand.element());
  return own && *own < size ? std::min(access_bits / *own, most_words * access_bits / size) : 0;
}

/// Tells whether an operand lies in shared memory with K adjacent.
bool lies_along_depth(Factor operand, bool left) {
  FetchedOperand const source = operand.fetched();
  return source.view != nullptr && source.transposed != left;
}

/// Columns up to which a warp reads a right operand in less time than it computes its rows of the left one.
constexpr std::int64_t few_columns = 32;

}  // namespace

std::int64_t computed_elements(ProductForm product, layout::WarpGrid grid) {
  std::int64_t sum = 0;
  for (bool const left : {true, false}) {
    Value const& tile = *(left ? product.left() : product.right()).tile;
    if (is_computed_from_memory(tile)) sum += tile.type().elements() * (left ? grid.columns : grid.rows) * grid.copies;
  }
  return sum;
}

bool takes_few_bits(ProductForm product) {
  return product.shape()[1] <= few_columns && wanted_run(product.left(), true) != 0 &&
         lies_along_depth(product.right(), false);
}

Extents Factor::shape() const {
  Extents const& of_tile = tile->type().shape();
  return turned ? Extents{of_tile[1], of_tile[0]} : of_tile;
}

FetchedOperand Factor::fetched() const {
  FetchedOperand source = fetched_operand(*tile);
  source.transposed = source.transposed != turned;
  return source;
}

bool Factor::is_loaded() const { return transform::is_loaded(*tile); }
bool Factor::is_transpose() const { return is_transposed(*tile) != turned; }

Finding why_not_wgmma(ProductForm product, TargetInfo const& target, StoredOperands const& stored) {
  auto const [stored_right, stored_left] = stored;
  Factor const a = product.left(), b = product.right();
  std::int64_t const columns = b.shape()[1];
  if (Finding why = why_not_tensor_cores(*product.dot, target); !why.empty()) return why;
  if (!target.has(Ability::wgmma)) return Finding(finding::no_wgmma, target.architecture);
  if (a.element() == Element::f64) return Finding(finding::no_f64);
  if (is_i8_or_u8(a.element()) && columns > 24 && columns % 16 != 0) return Finding(finding::i8_columns, columns);
  if (a.shape()[0] % target.wgmma.rows != 0) return Finding(finding::rows, a.shape()[0]);
  Finding why;
  FetchedOperand const left = a.fetched(), right = b.fetched();
  if (right.view == nullptr && stored_right == nullptr) return path_of(*b.tile);
  Type const rhs = stored_right == nullptr ? view_type(right) : Type::shared(b.element(), b.shape(), stored_right);
  if (!target::wgmma_operand(rhs.shape(), *rhs.layout(), bytes(rhs.element()), target::WgmmaRole::b, why)) return why;
  if (left.view == nullptr && stored_left == nullptr)
    return takes_few_bits(product) ? Finding(finding::few_bits) : Finding();
  Layout const* const as_stored =
      stored_left != nullptr && a.is_transpose() ? stored_left->transposed({1, 0}) : stored_left;
  Type const lhs = as_stored == nullptr ? view_type(left) : Type::shared(a.element(), a.shape(), as_stored);
  if (!target::wgmma_operand(lhs.shape(), *lhs.layout(), bytes(lhs.element()), target::WgmmaRole::a, why)) return why;
  return {};
}

namespace {

/// Tells whether warps load an operand in this layout from where it lies. An operand that is not a copied tile comes to
/// them in some other way.
bool loads_directly(Factor operand, Layout const* layout) {
  FetchedOperand const source = operand.fetched();
  std::string ignored;
  return source.view == nullptr || layout::AccessMap::get(*layout, *view_type(source).layout(), ignored).has_value();
}

}  // namespace

Finding why_not_tensor_cores(Op const& dot, TargetInfo const& target) {
  Element const element = dot.lhs()->type().element();
  if (!target.multiplies(element)) return Finding(finding::no_products, target.architecture, name(element));
  if (dot.lhs()->type().element() == Element::f32 && dot.as<ir::DotOp>().precision == ir::DotPrecision::full)
    return Finding(finding::full_f32);
  return {};
}

namespace {

/// Returns the layout of the widest swizzle that `fits`; null: none does.
template <class Fits>
Layout const* widest_swizzle(Extents const& shape, int element_bytes, bool transposed, Fits const& fits) {
  std::string ignored;
  auto const& layout_of = transposed ? layout::swizzled_transposed_layout : layout::swizzled_layout;
  for (int const swizzle : {128, 64, 32, 16})
    if (Layout const* const layout = layout_of(shape, element_bytes, swizzle, ignored);
        layout != nullptr && fits(layout))
      return layout;
  return nullptr;
}

}  // namespace

StoredOperands stored_operands(ProductForm product, TargetInfo const& target) {
  StoredOperands stored;
  if (!target.has(Ability::wgmma)) return stored;
  Factor const left = product.left(), right = product.right();
  int const size = bytes(right.element());
  bool const loads_left = left.fetched().view == nullptr && !left.turned && left.is_loaded();
  if (right.fetched().view == nullptr) {
    // K adjacent: the only way but for 2 bytes, and as threads hold what lies so in memory.
    bool const lies_so = right.is_loaded() || bits_in_memory(*right.tile, right.turned).has_value();
    bool const in_columns = size != 2 || (right.is_transpose() && lies_so);
    stored.right = widest_swizzle(right.shape(), size, in_columns, [&](Layout const* layout) {
      return fits_wgmma(product, target, {layout, nullptr});
    });
  }
  bool const turned = left.is_transpose() && left.fetched().view == nullptr;
  if (!turned && !(loads_left && stored.right != nullptr)) return stored;
  Extents const before = turned ? Extents{left.shape()[1], left.shape()[0]} : left.shape();
  stored.left = widest_swizzle(before, bytes(left.element()), false, [&](Layout const* layout) {
    return fits_wgmma(product, target, {stored.right, layout});
  });
  return stored;
}

std::vector<layout::WarpGrid> wgmma_grids(ProductForm product, StoredOperands const& stored, int warps, int cta_warps,
                                          TargetInfo const& target, Finding& why) {
  std::vector<layout::WarpGrid> grids;
  Extents const d = product.shape();
  Factor const a = product.left(), b = product.right();
  bool const from_registers = a.fetched().view == nullptr && stored.left == nullptr;
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
      Layout const& memory = stored.right != nullptr ? *stored.right : *view_type(b.fetched()).layout();
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
std::vector<layout::WarpGrid> possible_grids(ProductForm product, int warps, TargetInfo const& target) {
  Extents const shape = product.shape();
  Factor const left = product.left(), right = product.right();
  int const size = bytes(left.element());
  std::vector<layout::WarpGrid> grids;
  for (layout::WarpGrid const grid : layout::warp_grids(warps)) {
    if (shape[0] % (target.mma.rows * grid.rows) != 0 || shape[1] % (target.mma.column_step * grid.columns) != 0)
      continue;
    std::string ignored;
    if (layout::mma_a_layout(left.shape(), size, grid, ignored) != nullptr &&
        layout::mma_b_layout(right.shape(), size, grid, ignored) != nullptr)
      grids.push_back(grid);
  }
  std::stable_sort(grids.begin(), grids.end(),
                   [](layout::WarpGrid const& a, layout::WarpGrid const& b) { return a.copies < b.copies; });
  return grids;
}

/// Rates what the warps of mma.sync do for operands of which some are computed: the longer of arithmetic and reads from
/// shared memory, in bytes that this reads meanwhile. 0: none is computed.
std::int64_t work_on_operands(ProductForm product, layout::WarpGrid grid) {
  constexpr std::int64_t bytes_of_element = 4;  // read while one is computed, by about four instructions
  std::int64_t const computed = computed_elements(product, grid);
  if (computed == 0) return 0;
  std::int64_t read = 0;
  for (bool const left : {true, false}) {
    Type const& type = (left ? product.left() : product.right()).tile->type();
    read += type.elements() * bytes(type.element()) * (left ? grid.columns : grid.rows) * grid.copies;
  }
  return std::max(computed * bytes_of_element, read);
}

bool is_direct(ProductForm product, layout::WarpGrid grid) {
  Factor const a = product.left(), b = product.right();
  int const size = bytes(a.element());
  std::string ignored;
  return loads_directly(a, layout::mma_a_layout(a.shape(), size, grid, ignored)) &&
         loads_directly(b, layout::mma_b_layout(b.shape(), size, grid, ignored));
}

}  // namespace

int run_of_depth(ProductForm product, layout::WarpGrid grid, std::int64_t step) {
  Factor const left = product.left(), right = product.right();
  std::int64_t const of_left = wanted_run(left, true), of_right = wanted_run(right, false);
  if (of_left == 0 && of_right == 0) return 0;
  if ((of_left == 0 && !lies_along_depth(left, true)) || (of_right == 0 && !lies_along_depth(right, false))) return 0;
  int const size = bytes(left.element());
  std::vector<int> runs = layout::mma_runs(size, step);
  while (runs.back() > std::max(of_left, of_right)) runs.pop_back();
  for (; runs.back() > 0; runs.pop_back()) {
    std::string ignored;
    if (loads_directly(left, layout::mma_a_layout(left.shape(), size, grid, ignored, runs.back())) &&
        loads_directly(right, layout::mma_b_layout(right.shape(), size, grid, ignored, runs.back())))
      break;
  }
  return runs.back();
}

std::vector<DotGrid> mma_grids(ProductForm product, int warps, TargetInfo const& target) {
  Extents const shape = product.shape();
  std::vector<DotGrid> grids;
  for (layout::WarpGrid const grid : possible_grids(product, warps, target))
    grids.push_back(
        {grid, grids.empty() || grid.copies == grids.front().grid.copies ? is_direct(product, grid) : false});
  auto const key = [&](DotGrid const& one) {
    return std::tuple(one.grid.copies, work_on_operands(product, one.grid), !one.direct,
                      std::abs(shape[0] / one.grid.rows - shape[1] / one.grid.columns));
  };
  std::stable_sort(grids.begin(), grids.end(), [&](DotGrid const& a, DotGrid const& b) { return key(a) < key(b); });
  return grids;
}

std::string why_not_mma(ProductForm product, int warps, TargetInfo const& target) {
  Factor const a = product.left();
  if (Finding const why = why_not_tensor_cores(*product.dot, target); !why.empty()) return why.text();
  std::int64_t const depth = target.mma.depth_bytes / bytes(a.element());
  if (a.shape()[1] % depth != 0) return fmt::format("mma takes multiples of {} along K, not {}", depth, a.shape()[1]);
  if (possible_grids(product, warps, target).empty())
    return fmt::format("mma takes multiples of 16 rows and 8 columns from each of {} warps", warps);
  return {};
}

std::int64_t depth_of_part(ProductForm product, layout::WarpGrid grid, TargetInfo const& target) {
  Factor const left = product.left(), right = product.right();
  Extents const a = left.shape(), b = right.shape();
  std::int64_t const size = bytes(left.element()), word = 4, unit = target.mma.depth_bytes / size;
  std::int64_t const sums = product.shape().product() / (std::int64_t{grid.rows} * grid.columns * target.lanes);
  int const copying = copies_apart(Choice::automatic, target) ? producer_warps : 0;
  std::int64_t const room = std::min<std::int64_t>(target.tuning.max_operand_registers,
                                                   registers_of_cta(grid.warps() + copying, target) - sums);
  bool const held = in_registers(*left.tile);
  auto const registers = [&](std::int64_t depth) {  // each warp holds its rows and its columns
    return ((held ? a[1] : depth) * (a[0] / grid.rows) + depth * (b[1] / grid.columns)) * size / word / target.lanes;
  };
  auto const can_part = [&](std::int64_t depth) {
    return (held || readable_in_parts(*left.tile, !left.turned, depth)) &&
           readable_in_parts(*right.tile, right.turned, depth);
  };
  std::int64_t depth = a[1];
  for (std::int64_t parts = 2; registers(depth) > room && parts * unit <= a[1]; ++parts)
    if (a[1] % (parts * unit) == 0 && can_part(a[1] / parts)) depth = a[1] / parts;
  return depth;
}

}  // namespace tegula::transform

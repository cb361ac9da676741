#include "transform/common/dot_paths.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>

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

constexpr std::int64_t elements_per_warp = 1024;  ///< of a result that mma makes: 32 registers a thread
constexpr int max_warps = 16;
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

/// Explains why no wgmma takes this product, for any number of warps. Empty: one does. Operands lie where they were
/// copied, or in these layouts.
Finding no_wgmma_of(Op const& dot, Layout const* stored_right = nullptr, Layout const* stored_left = nullptr) {
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
  Type const lhs = stored_left == nullptr ? view_type(left) : Type::shared(a.element(), a.shape(), stored_left);
  if (!target::wgmma_operand(lhs.shape(), *lhs.layout(), bytes(lhs.element()), target::WgmmaRole::a, why)) return why;
  return {};
}

/// Tells whether warps load an operand in this layout from where it lies. An operand that is not a copied tile comes to
/// them in some other way.
bool loads_directly(Value const& operand, Layout const* layout) {
  FetchedOperand const source = fetched_operand(operand);
  std::string ignored;
  return source.view == nullptr || layout::AccessMap::get(*layout, *view_type(source).layout(), ignored).has_value();
}

/// Counts registers of all threads that hold products' results: the sum of all that a loop carries, or the largest
/// other one.
std::int64_t accumulators(std::vector<Op*> const& dots) {
  std::map<ir::Block const*, std::pair<std::int64_t, std::int64_t>> blocks;  // carried, largest other
  std::int64_t max = 0;
  for (Op const* dot : dots) {
    auto& [carried, other] = blocks[dot->parent()];
    auto const& uses = dot->result()->uses();
    bool const is_carried =
        std::any_of(uses.begin(), uses.end(), [&](ir::Use const& use) { return use.user == &dot->parent()->back(); });
    std::int64_t const elements = dot->result()->type().elements();
    if (is_carried)
      carried += elements;
    else
      other = std::max(other, elements);
    max = std::max(max, carried + other);
  }
  return max;
}

/// Tells whether mma of some number of warps takes a product.
bool has_mma(Op const& dot) {
  for (int warps = 1; warps <= max_warps; ++warps)
    if (no_mma(dot, warps).empty()) return true;
  return false;
}

/// Warpgroups for products whose rows divide into so many blocks of 64.
int warpgroups(std::vector<Op*> const& dots, std::int64_t blocks, TargetInfo const& target) {
  constexpr std::array order = {4, 3, 2, 1, 5, 6, 7};  // with the producer at most 8
  std::int64_t const results = accumulators(dots);
  std::int64_t columns = 0;  // of the widest instruction
  for (Op const* dot : dots)
    columns = std::max(columns, std::min<std::int64_t>(dot->result()->type().shape()[1], target.wgmma.max_columns));
  auto const fits = [&](int groups, bool whole) {
    int const consumers = groups * target.warps_per_group;
    std::int64_t const beside = target.wgmma.extra_registers;
    return results / (consumers * target.lanes) + beside <= registers_of_roles(consumers, target)[1] &&
           (!whole || columns <= target::max_wgmma_columns(consumers + target.warps_per_group, target));
  };
  for (bool const whole : {true, false})  // instructions of few columns read the left operand more often
    for (int const groups : order)
      if (blocks % groups == 0 && fits(groups, whole)) return groups;
  for (int const groups : order)
    if (blocks % groups == 0) return groups;
  return 1;
}

}  // namespace

Finding no_tensor_core(Op const& dot) {
  if (dot.lhs()->type().element() == Element::f32 && dot.as<ir::DotOp>().precision == ir::DotPrecision::full)
    return Finding(finding::full_f32);
  return {};
}

Finding no_wgmma(Op const& dot, int warps) {
  if (Finding why = no_wgmma_of(dot); !why.empty()) return why;
  Extents const& d = dot.result()->type().shape();
  Type const& a = dot.lhs()->type();
  std::string ignored;
  if (layout::wgmma_layout(d, warps, ignored) == nullptr)
    return Finding(finding::accumulator_layout, layout::shape_text(d), warps);
  if (fetched_operand(*dot.lhs()).view == nullptr &&
      layout::wgmma_a_layout(a.shape(), bytes(a.element()), warps, ignored) == nullptr)
    return Finding(finding::left_layout, layout::shape_text(a.shape()), bytes(a.element()), warps);
  return {};
}

Layout const* stored_right_layout(Op const& dot) {
  Type const& tile = dot.rhs()->type();
  int const size = bytes(tile.element());
  if (fetched_operand(*dot.rhs()).view != nullptr) return nullptr;
  Finding const path = path_of(*dot.rhs());
  if (!path.is(finding::rhs_computed) && !path.is(finding::rhs_handed)) return nullptr;
  std::string ignored;
  auto const& in_rows = size == 2 ? layout::swizzled_layout : layout::swizzled_transposed_layout;  // wgmma: K adjacent
  for (int const swizzle : {128, 64, 32, 16})
    if (Layout const* const layout = in_rows(tile.shape(), size, swizzle, ignored);
        layout != nullptr && no_wgmma_of(dot, layout).empty())
      return layout;
  return nullptr;
}

Layout const* stored_left_layout(Op const& dot) {
  Op const* const turned = dot.lhs()->defining_op();
  if (turned == nullptr || !turned->is<ir::TransOp>() || fetched_operand(*dot.lhs()).view != nullptr) return nullptr;
  Type const& tile = turned->operand()->type();
  std::string ignored;
  for (int const swizzle : {128, 64, 32, 16})
    if (Layout const* const layout = layout::swizzled_layout(tile.shape(), bytes(tile.element()), swizzle, ignored);
        layout != nullptr && no_wgmma_of(dot, nullptr, layout->transposed({1, 0})).empty())
      return layout;
  return nullptr;
}

DotGrid warp_grid(Op const& dot, int warps) {
  Extents const& shape = dot.result()->type().shape();
  int const size = bytes(dot.lhs()->type().element());
  DotGrid best;
  std::int64_t min = 0;
  for (int rows = 1; rows <= warps; ++rows) {
    int const columns = warps / rows;
    if (rows * columns != warps || shape[0] % (isa::mma.rows * rows) != 0 ||
        shape[1] % (isa::mma.column_step * columns) != 0)
      continue;
    layout::WarpGrid const grid{rows, columns};
    std::string ignored;
    Layout const* const left = layout::mma_a_layout(dot.lhs()->type().shape(), size, grid, ignored);
    Layout const* const right = layout::mma_b_layout(dot.rhs()->type().shape(), size, grid, ignored);
    if (left == nullptr || right == nullptr) continue;
    bool const direct = loads_directly(*dot.lhs(), left) && loads_directly(*dot.rhs(), right);
    std::int64_t const off = std::abs(shape[0] / rows - shape[1] / columns);
    if (best.grid.rows != 0 && (best.direct != direct ? best.direct : off >= min)) continue;
    best = {grid, direct};
    min = off;
  }
  return best;
}

std::string no_mma(Op const& dot, int warps) {
  Type const& a = dot.lhs()->type();
  if (!no_tensor_core(dot).empty()) return "mma neither";
  std::int64_t const depth = isa::mma.depth_bytes / bytes(a.element());
  if (a.shape()[1] % depth != 0)
    return "mma takes multiples of " + std::to_string(depth) + " along K, not " + std::to_string(a.shape()[1]);
  if (warp_grid(dot, warps).grid.rows == 0)
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

int warps_for_products(std::vector<Op*> const& dots, TargetInfo const& target) {
  std::int64_t blocks = 0;
  std::int64_t max = 1;
  std::vector<Op*> by_mma;  // with some number of warps; others run on any
  for (Op* dot : dots) {
    Extents const& shape = dot->result()->type().shape();
    max = std::max(max, shape.product());
    if (has_mma(*dot)) by_mma.push_back(dot);
    if (no_wgmma_of(*dot).empty()) blocks = std::gcd(blocks, shape[0] / isa::wgmma.rows);
  }
  if (blocks != 0) return warpgroups(dots, blocks, target) * target.warps_per_group;
  auto const fit = [&](int warps) {
    return std::all_of(by_mma.begin(), by_mma.end(),
                       [&](Op const* dot) { return no_mma(*dot, warps).empty() && warp_grid(*dot, warps).direct; });
  };
  int wanted = 1;
  while (wanted < 8 && wanted * elements_per_warp < max) wanted *= 2;
  if (fit(wanted)) return wanted;
  // The nearest number, counted in steps of doubling; thirds and fifths of rows or columns have their own numbers. More
  // than 8 where a thread would hold more than 64 elements.
  wanted = static_cast<int>(std::clamp<std::int64_t>(max / (2 * elements_per_warp), wanted, max_warps));
  int best = 0;
  auto const farther = [&](int a, int b) {  // from the wanted number
    return std::max(a, wanted) * std::min(b, wanted) > std::max(b, wanted) * std::min(a, wanted);
  };
  for (int warps = max_warps; warps >= 1; --warps)
    if (fit(warps) && (best == 0 || farther(best, warps))) best = warps;
  return best == 0 ? 1 : best;
}

}  // namespace tegula::transform

#include "transform/common/spread_ctas.hpp"

#include <algorithm>
#include <vector>

#include "ir/core/walk.hpp"
#include "transform/common/axis_division.hpp"

namespace tegula::transform {

using ir::Op;
using ir::Value;

namespace {

constexpr std::int64_t portable_cluster = 8;
constexpr std::int64_t word_bytes = 4;

/// Finds the tile of a function with most elements; null: there is none.
Value const* largest_tile(ir::Function& function) {
  Value const* largest = nullptr;
  ir::walk(function, [&](Op& op) {
    each_tile(op, [&](Value& tile) {
      if (largest == nullptr || tile.type().elements() > largest->type().elements()) largest = &tile;
    });
  });
  return largest;
}

/// Tells whether a kernel is straight-line code on tiles and its grid, of which parts run alike in all CTAs.
bool is_straight(ir::Function& function) {
  bool straight = true, grid = false;
  ir::walk(function, [&](Op& op) {
    bool const alike = op.block_count() == 0 && !op.is(ir::Family::product) && !op.is(ir::Family::synchronisation) &&
                       !op.info().is_block_op() && !op.is<ir::MultiprocessorsOp>();
    straight = straight && (alike || op.is<ir::ConvertLayoutOp>());
    grid = grid || op.is<ir::GridOp>();
  });
  return straight && grid;
}

/// Tells whether results of reductions can be handed over, and effects of all parts left to one CTA. The tree over
/// pairs is that of the whole row if each part has a whole one.
bool can_join(AxisDivision const& division) {
  bool const whole_trees = (division.extent() & (division.extent() - 1)) == 0;
  auto const fits = [&](Op const* reduction) {
    return bytes(reduction->result()->type().element()) == word_bytes &&
           (whole_trees || reduction->as<ir::ReduceOp>().order == ir::Order::any);
  };
  auto const has_no_result = [](Op const* effect) { return effect->result_count() == 0; };
  return std::all_of(division.reductions().begin(), division.reductions().end(), fits) &&
         std::all_of(division.effects_of_all().begin(), division.effects_of_all().end(), has_no_result);
}

/// Counts the CTAs that the options ask for, or that hold so many elements.
std::int64_t wanted_ctas(std::int64_t elements, CompileOptions const& options, TargetInfo const& target) {
  if (options.split != 0) return options.split;
  std::int64_t const held = target.tuning.large_elements * target.tuning.max_warps * target.lanes;
  std::int64_t ctas = 1;
  while (ctas < portable_cluster && ctas * held < elements) ctas *= 2;
  return ctas;
}

/// Tells whether tiles may be divided: a look at the kernel before its axes are known.
bool may_share(ir::Function& function, Value const* largest, CompileOptions const& options, TargetInfo const& target) {
  return target.has(Ability::clusters) && function.is_kernel() && function.cluster == 1 && largest != nullptr &&
         wanted_ctas(largest->type().elements(), options, target) > 1 && is_straight(function);
}

}  // namespace

RowShares shares_of_rows(ir::Function& function, AxisClasses const& classes, CompileOptions const& options,
                         TargetInfo const& target) {
  Value const* const largest = largest_tile(function);
  if (!may_share(function, largest, options, target)) return {};
  std::int64_t const ctas = wanted_ctas(largest->type().elements(), options, target);
  std::vector<int> axes;
  for (int axis = 0; axis < largest->type().rank(); ++axis) axes.push_back(axis);
  std::stable_sort(axes.begin(), axes.end(),
                   [&](int a, int b) { return largest->type().shape()[a] > largest->type().shape()[b]; });
  for (int const axis : axes) {
    AxisDivision const division(function, classes, classes.of(*largest, axis), ctas);
    if (can_join(division) && division.possible()) return {ctas, classes.of(*largest, axis)};
  }
  return {};
}

std::int64_t ctas_of_rows(ir::Function& function, CompileOptions const& options, TargetInfo const& target) {
  if (!may_share(function, largest_tile(function), options, target)) return 1;
  AxisClasses const classes(function, AxisClasses::Layouts::divided);
  return shares_of_rows(function, classes, options, target).ctas;
}

}  // namespace tegula::transform

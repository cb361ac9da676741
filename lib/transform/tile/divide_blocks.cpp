#include "transform/tile/divide_blocks.hpp"

#include <algorithm>
#include <vector>

#include "ir/core/walk.hpp"
#include "transform/common/axis_division.hpp"
#include "transform/common/kernel_plan.hpp"

namespace tegula::transform {
namespace {

using ir::Op;

/// Parts are whole blocks of wgmma's rows, and boxes that TMA copies without a rest.
constexpr std::int64_t step = 64;

/// Returns the least number of equal parts that an extent is divided into; 0: it cannot be divided.
std::int64_t parts_of(std::int64_t extent) {
  for (std::int64_t parts = 2; parts * step <= extent; ++parts)
    if (extent % (parts * step) == 0) return parts;
  return 0;
}

/// Divides the blocks once. False: warps hold the sums, or nothing can be divided.
bool divide(ir::Function& function, TargetInfo const& target) {
  std::vector<Op*> dots;
  Op* grid = nullptr;
  ir::walk(function, [&](Op& op) {
    if (op.is<ir::DotOp>()) dots.push_back(&op);
    if (op.is<ir::GridOp>()) grid = &op;
  });
  if (dots.empty() || grid == nullptr || accumulators(dots) <= max_accumulators(target)) return false;
  AxisClasses const classes(function);
  auto const largest = *std::max_element(dots.begin(), dots.end(), [](Op const* a, Op const* b) {
    return a->result()->type().elements() < b->result()->type().elements();
  });
  for (int axis = 0; axis < largest->result()->type().rank(); ++axis) {
    int const divided = classes.of(*largest->result(), axis);
    std::int64_t const parts = parts_of(classes.extent(divided));
    if (parts == 0) continue;
    AxisDivision division(function, classes, divided, parts);
    bool const apart = division.reductions().empty() && division.effects_of_all().empty();
    if (!apart || !division.possible()) continue;
    division.run(*grid);
    return true;
  }
  return false;
}

}  // namespace

PassResult divide_blocks(ir::Function& function, PassContext& context) {
  if (!function.is_kernel() || function.cluster != 1) return PassResult::unchanged;
  bool changed = false;
  while (divide(function, context.target)) changed = true;
  return result_of(changed);
}

}  // namespace tegula::transform

#include "transform/common/spread_ctas.hpp"

#include "ir/core/walk.hpp"
#include "transform/common/axis_classes.hpp"

namespace tegula::transform {

using ir::Op;
using ir::Value;

namespace {

constexpr std::int64_t elements_per_thread = 32;
constexpr std::int64_t max_warps = 16;
constexpr std::int64_t portable_cluster = 8;

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

}  // namespace

Value const* largest_tile(ir::Function& function) {
  Value const* largest = nullptr;
  ir::walk(function, [&](Op& op) {
    each_tile(op, [&](Value& tile) {
      if (largest == nullptr || tile.type().elements() > largest->type().elements()) largest = &tile;
    });
  });
  return largest;
}

std::int64_t ctas_of_rows(ir::Function& function, CompileOptions const& options, TargetInfo const& target) {
  if (!function.is_kernel() || function.cluster != 1 || !is_straight(function)) return 1;
  Value const* const largest = largest_tile(function);
  if (largest == nullptr) return 1;
  if (options.split != 0) return options.split;
  std::int64_t const held = elements_per_thread * max_warps * target.lanes;
  std::int64_t ctas = 1;
  while (ctas < portable_cluster && ctas * held < largest->type().elements()) ctas *= 2;
  return ctas;
}

}  // namespace tegula::transform

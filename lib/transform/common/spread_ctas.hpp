// Counts the CTAs of a cluster that share the rows of a kernel.
#pragma once

#include <cstdint>

#include "ir/core/op.hpp"
#include "tegula/abi/compile_options.hpp"
#include "tegula/target/target_info.hpp"
#include "transform/common/axis_classes.hpp"

namespace tegula::transform {

/// Says how spread-rows divides a kernel.
struct RowShares {
  std::int64_t ctas = 1;  ///< of a cluster; 1: one CTA holds the largest tile, or it cannot be divided
  int axis_class = 0;     ///< along which tiles are divided
};

/// Chooses the CTAs that share the largest tile of a kernel: as few as hold it with 32 elements a thread of 16 warps,
/// and at most 8, or as many as CompileOptions::split states. The axis is the longest one that AxisDivision divides.
/// Kernels stay whole
/// - on targets without clusters,
/// - without a grid,
/// - with ops that do not run alike in all CTAs: products, loops, branches, copies,
/// - with reductions along the axis whose elements have other than 4 bytes, or pairwise ones of parts whose length is
/// not
///   a power of 2,
/// - with results of effects that are the same in all parts.
RowShares shares_of_rows(ir::Function& function, AxisClasses const& classes, CompileOptions const& options,
                         TargetInfo const& target);

/// Returns the CTAs alone; 1 at once for small tiles.
std::int64_t ctas_of_rows(ir::Function& function, CompileOptions const& options, TargetInfo const& target);

}  // namespace tegula::transform

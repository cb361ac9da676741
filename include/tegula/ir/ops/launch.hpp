// Connects a kernel to its launch: grid, requirements, extents and block indices.
#pragma once

#include "tegula/abi/limits.hpp"
#include "tegula/ir/fields.hpp"

namespace tegula::ir {

/// States the grid: `grid %g0, %g1`, its extents in blocks, from launch expressions (extents, integer scalars,
/// constants and integer arithmetic on them). At most one per kernel, in its outermost block.
struct GridOp : OpDefaults<Family::launch> {
  static constexpr std::string_view mnemonic = "grid";
  static constexpr auto operands = names("extents");
  static constexpr unsigned traits = variadic;
};

/// Requires that a launch expression holds: `require %c {message = "..."}`; evaluated on the host before the launch.
struct RequireOp : OpDefaults<Family::launch> {
  static constexpr std::string_view mnemonic = "require";
  static constexpr auto operands = names("condition");
  Symbol message;
  static constexpr auto attributes() { return fields(field("message", &RequireOp::message)); }
};

/// Returns a tensor parameter's extent: `%n = extent %t {axis = 1} : i64`.
struct ExtentOp : OpDefaults<Family::symbolic> {
  static constexpr std::string_view mnemonic = "extent";
  static constexpr auto operands = names("tensor");
  static constexpr Bounds number = {0, max_tensor_extent};
  std::int64_t axis = 0;
  static constexpr auto attributes() { return fields(field("axis", &ExtentOp::axis, bounds::axis)); }
};

/// Returns this block's index along a grid axis: `%b = block_index {axis = 0} : i64`.
struct BlockIndexOp : OpDefaults<Family::symbolic> {
  static constexpr std::string_view mnemonic = "block_index";
  static constexpr auto operands = names();
  static constexpr Bounds number = {0, max_grid_blocks};
  std::int64_t axis = 0;
  static constexpr auto attributes() { return fields(field("axis", &BlockIndexOp::axis, bounds::grid_axis)); }
};

/// Returns the launch's number of blocks along a grid axis, at least 1: `%n = grid_extent {axis = 0} : i64`. Along an
/// axis that the grid does not have it is 1. Not for launch expressions: they decide it.
struct GridExtentOp : OpDefaults<Family::symbolic> {
  static constexpr std::string_view mnemonic = "grid_extent";
  static constexpr auto operands = names();
  static constexpr Bounds number = {1, max_tensor_extent};
  std::int64_t axis = 0;
  static constexpr auto attributes() { return fields(field("axis", &GridExtentOp::axis, bounds::grid_axis)); }
};

/// Returns the number of multiprocessors of the device that runs the kernel, for persistent grids:
/// `%n = multiprocessors : i64`. Host and simulator answer host_multiprocessors. The same number in launch expressions
/// and in every block.
struct MultiprocessorsOp : OpDefaults<Family::symbolic> {
  static constexpr std::string_view mnemonic = "multiprocessors";
  static constexpr auto operands = names();
  static constexpr unsigned traits = launchable;
  static constexpr Bounds number = {1, max_tensor_extent};
};

}  // namespace tegula::ir

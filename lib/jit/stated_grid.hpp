// Lets a launch state a grid in place of the kernel's own: a variant of the kernel takes its grid from scalar
// parameters.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "tegula/runtime/argument.hpp"
#include "tegula/trace/traced_kernel.hpp"

namespace tegula::jit {

/// Returns the kernel with its grid read from i64 parameters behind its own: one for each extent, three where it does
/// not state a grid. Code compiled from it runs the stated tiles, persistent CTAs too.
///
///   before: kernel @k(%x: ...) {                after: kernel @k(%x: ..., %grid0: i64) {
///             grid %n                                    grid %grid0
trace::TracedKernel with_stated_grid(trace::TracedKernel const& kernel);

/// Checks a grid that a launch states, for every executor. `own_rank`: the rank of the kernel's own grid; -1: none.
/// Throws UserError for:
/// - a grid of another rank;
/// - a negative extent;
/// - more blocks than can run on a device of `kind`.
void check_stated_grid(std::string_view kernel, int own_rank, GridOverride const& grid, DeviceKind kind);

/// Returns the arguments of that kernel: the given ones, then the grid, which is checked against `kernel`, the kernel
/// as written.
std::vector<Argument> with_grid_arguments(trace::TracedKernel const& kernel, std::span<Argument const> arguments,
                                          GridOverride const& grid, DeviceKind kind);

}  // namespace tegula::jit

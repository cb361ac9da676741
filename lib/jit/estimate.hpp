// Estimates how long a kernel takes, from its text and the sizes of a launch alone: to choose among variants.
#pragma once

#include <span>
#include <vector>

#include "analysis/launch_cost.hpp"
#include "tegula/abi/compile_options.hpp"
#include "tegula/runtime/argument.hpp"
#include "tegula/runtime/device.hpp"
#include "tegula/trace/traced_kernel.hpp"

namespace tegula::jit {

using analysis::Estimate;
using analysis::Executor;

Executor executor_of(device where);

/// Describes an argument; a scalar has no extents.
analysis::TensorSize size_of(Argument const& argument);

/// Estimates a launch (analysis/launch_cost.hpp). The kernel is traced, not compiled: extents and numbers take the
/// place of its symbols, and constants are folded.
Estimate estimate(trace::TracedKernel const& kernel, std::span<Argument const> arguments, GridOverride const& grid,
                  CompileOptions const& options, Executor const& executor);

/// Estimates each number of CTAs that share a tile; the kernel is traced once.
std::vector<Estimate> estimates_of_splits(trace::TracedKernel const& kernel, std::span<Argument const> arguments,
                                          CompileOptions options, std::span<int const> splits,
                                          Executor const& executor);

}  // namespace tegula::jit

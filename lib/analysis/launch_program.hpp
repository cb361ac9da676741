// Extracts the part of a kernel that the host evaluates before a launch: grid and requirements as a program over
// extents and scalars.
#pragma once

#include "ir/core/op.hpp"
#include "tegula/abi/compiled_kernel.hpp"

namespace tegula::analysis {

/// Returns the backward slice of the kernel's grid and requirements, each value once, in order of first need. Throws
/// UserError that names the op in the way when a value cannot be computed before the launch (see
/// ir::why_not_launchable).
LaunchProgram launch_program(ir::Function const& kernel);

/// Prints one line per step, then the grid and the requirements.
std::string to_string(LaunchProgram const& program);

/// Describes each parameter: kind, element, rank, direction and facts.
std::vector<ParameterInfo> parameters_of(ir::Function const& kernel);

}  // namespace tegula::analysis

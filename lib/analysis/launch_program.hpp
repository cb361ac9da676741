// The part of a kernel that the host evaluates before a launch: grid and requirements as a program over extents and
// scalars.
#pragma once

#include "ir/op.hpp"
#include "tegula/abi/compiled_kernel.hpp"

namespace tegula::analysis {

/// The backward slice of the kernel's grid and requirements, each value once, in order of first need. i32 arithmetic is
/// made to wrap at 32 bits. Throws UserError that names the op in the way when a value cannot be computed before the
/// launch (see ir::why_not_launchable).
LaunchProgram launch_program(ir::Function const& kernel);

/// One line per step, then the grid and the requirements.
std::string to_string(LaunchProgram const& program);

/// Kind, element, rank, direction and facts of each parameter.
std::vector<ParameterInfo> parameters_of(ir::Function const& kernel);

}  // namespace tegula::analysis

// Prints the part of a launch that every launcher shares: the plan of its arguments, and the grid.
#pragma once

#include <span>
#include <string>

#include "runtime/prepared_launch.hpp"
#include "tegula/abi/host_plan.hpp"
#include "tegula/runtime/argument.hpp"

namespace tegula::runtime {

/// Adds the tensors of a launch to the plan of its kernel: extents, strides, and the descriptors of equal contents.
/// The plan keeps as many arguments as were given. Throws as cuda::describe does.
void add_arguments(HostPlan& plan, CompiledKernel const& kernel, std::span<Argument const> arguments);

/// Prints the grid of a launch, indented by two blanks.
std::string grid_text(PreparedLaunch const& launch, bool given);
/// Prints the grid of a launch that nobody prepares: `values` are those of the steps of its program. A grid that the
/// call states is among them.
std::string grid_text(LaunchProgram const& program, std::span<std::int64_t const> values, bool given);
/// Prints the requirements of a launch with their values, each on a line, indented by two blanks.
std::string requirements_text(LaunchProgram const& program, std::span<std::int64_t const> values);

}  // namespace tegula::runtime

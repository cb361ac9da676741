// Makes the plan by which the host hands tensors to a kernel, as far as the compiled kernel decides it.
#pragma once

#include "tegula/abi/host_plan.hpp"
#include "tegula/abi/kernel_paths.hpp"

namespace tegula::abi {

/// Returns the plan of a compiled kernel: the descriptors that it takes, and general reasons for the other tensors.
HostPlan host_plan(CompiledKernel const& kernel);

/// Puts the reasons for pointers that the paths of a GPU's code give in place of the general ones.
void add_paths(HostPlan& plan, KernelPaths const& paths);

}  // namespace tegula::abi

// Finds the description of the GPU that compile options name.
#pragma once

#include <string>

#include "tegula/abi/compile_options.hpp"
#include "tegula/target/target_info.hpp"

namespace tegula::target {

/// Lists the architectures with a description: "sm_90a, sm_80".
std::string known_targets();

/// Returns the GPU that is meant where nothing names one: that of TEGULA_ARCH, else the first of gpu_targets. UserError
/// for an architecture without a description.
TargetInfo const& default_target();

/// Returns the GPU that these options compile for. Options of the host, and those without an architecture, mean the
/// default. Passes of the host's pipeline do not ask; a GPU's pass that runs alone needs one. UserError for an
/// architecture without a description.
TargetInfo const& gpu_target(CompileOptions const& options);

}  // namespace tegula::target

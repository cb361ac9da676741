// Finds the description of the GPU that compile options name.
#pragma once

#include "tegula/abi/compile_options.hpp"
#include "tegula/target/target_info.hpp"

namespace tegula::target {

/// Returns the GPU that these options compile for. Options of the host mean the first of gpu_targets. Passes of the
/// host's pipeline do not ask; a GPU's pass that runs alone needs one. UserError for an architecture without a
/// description.
TargetInfo const& gpu_target(CompileOptions const& options);

}  // namespace tegula::target

// Writes compile options into attributes of the IR, where passes and tests read them.
#pragma once

#include "transform/pass.hpp"

namespace tegula::transform {

/// Facts of the options become parameter attributes of the kernel (`unit_inner`, `aligned_16`; the launcher checks
/// them), `stages`, `distance` and `unroll` replace what every loop says, and functions that the kernel does not call
/// go. A loop whose step is not known to be positive gets a test for it in its bounds. Stages out of range and
/// distances that they do not allow are refused. Needs: one fact per parameter, or none at all.
///  Leaves: the options in force in the IR.
PassResult specialize(ir::Module& module, AnalysisCache& cache, PassContext& context);

}  // namespace tegula::transform

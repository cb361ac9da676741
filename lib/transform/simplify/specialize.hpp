// Writes compile options into attributes of the IR, where passes and tests read them.
#pragma once

#include "transform/common/pass.hpp"

namespace tegula::transform {

/// Writes the options' facts into parameter attributes of the kernel (`unit_inner`, `aligned_16`); the launcher checks
/// them. The options `stages`, `distance` and `unroll` replace those of every loop. Erases functions that the kernel
/// does not call. Adds a test to the bounds of a loop whose step is not known to be positive. Refuses stages out of
/// range and distances that the stages do not allow. Needs: one fact per parameter, or none at all.
/// Leaves: the options in force in the IR.
PassResult specialize(ir::Module& module, PassContext& context);

}  // namespace tegula::transform

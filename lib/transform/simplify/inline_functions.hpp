// Replaces calls with the callees' bodies.
#pragma once

#include "transform/pass.hpp"

namespace tegula::transform {

/// Puts the callee's body in place of each call, except of functions that stay, and drops functions that no kernel
/// calls any more (when the module has a kernel). Functions marked noinline stay, and those that say nothing when their
/// copies would make the code grow by more than 128 ops; those marked inline never do. Needs: nothing.  Leaves: calls
/// of functions that stay only.
PassResult inline_functions(ir::Module& module, AnalysisCache& cache, PassContext& context);

/// Does the same for all calls, for kernels of which passes make rings, roles of warps and products of tensor cores:
/// their loops must be seen whole. Leaves: no-calls.
PassResult inline_all_functions(ir::Module& module, AnalysisCache& cache, PassContext& context);

}  // namespace tegula::transform

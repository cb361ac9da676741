// Calls become bodies.
#pragma once

#include "transform/pass.hpp"

namespace tegula::transform {

/// Puts the callee's body in place of each call, except of functions marked noinline, and drops functions that no
/// kernel calls any more (when the module has a kernel). Needs: nothing.  Leaves: calls of noinline functions only.
PassResult inline_functions(ir::Module& module, AnalysisCache& cache, PassContext& context);

/// The same for all calls, for targets without calls.
/// Leaves: no-calls.
PassResult inline_all_functions(ir::Module& module, AnalysisCache& cache, PassContext& context);

}  // namespace tegula::transform

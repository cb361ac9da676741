// Replaces calls by the bodies of callees that host code cannot call.
#pragma once

#include "ir/core/op.hpp"

namespace tegula::codegen::host {

/// Inlines calls of functions that ask for the block or hold products, in the module's kernel and its callees, callees'
/// calls first. UserError for a callee that does not exist or that calls itself.
void inline_calls(ir::Module& module);

}  // namespace tegula::codegen::host

// Replaces calls by the bodies of their callees.
#pragma once

#include "ir/op.hpp"

namespace tegula::codegen::host {

/// Inlines every call in the module's kernel, callees' calls first. UserError for a callee that does not exist or that
/// calls itself.
void inline_calls(ir::Module& module);

}  // namespace tegula::codegen::host

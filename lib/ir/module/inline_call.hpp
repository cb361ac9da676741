// Replaces a call by its callee's body.
#pragma once

#include "ir/core/op.hpp"

namespace tegula::ir {

/// Puts the callee's body in place of a call. Its shared buffers go to the caller's outermost block, where buffers
/// belong, and their offsets in shared memory are undecided again.
void inline_call(Op& call, Function const& callee);

}  // namespace tegula::ir

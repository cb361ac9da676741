// A callee's body in place of a call.
#pragma once

#include "ir/op.hpp"

namespace tegula::ir {

/// Puts the callee's body in place of a call. Its shared buffers go to the caller's outermost block, where buffers
/// belong, and their places in shared memory are open again.
void inline_call(Op& call, Function const& callee);

}  // namespace tegula::ir

// Removes asserts.
#pragma once

#include "transform/common/pass.hpp"

namespace tegula::transform {

/// Removes each assert, with the ops and the carried values that only asserts need, and other dead code. The compiler
/// runs it first where CompileOptions::asserts is off. So all decisions are those for the kernel without asserts.
/// `ranges_only`: removes only the checks of stated ranges, which a GPU makes with CompileOptions::ranges alone.
/// Needs: nothing.  Leaves: no assert.
///
///   before: %ok = compare %a, %b {predicate = lt}      after:
///           assert %ok, %b0, %b1, %b2
bool remove_asserts(ir::Function& function, bool ranges_only = false);
PassResult remove_asserts(ir::Function& function, PassContext& context);

}  // namespace tegula::transform

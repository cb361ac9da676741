// Folds constants, applies exact identities and resolves known control flow.
#pragma once

#include "transform/common/pass.hpp"

namespace tegula::transform {

/// Brings ops to one simplest form, and repeats until nothing changes:
/// - constants are folded (see fold.hpp), and stand on the right;
/// - exact identities apply (for floats too: x + 0 stays, x - 0 goes);
/// - elementwise ops on splats and on broadcasts of one shape are done before the splat or broadcast;
/// - shape ops of shape ops merge;
/// - branches on constants and loops of no or one iteration are resolved;
/// - values that a loop carries without changing them are not carried;
/// - requirements that always hold go.
///
/// Before:                                 After:
///   %s = splat %n : tile<64xi64>            %p = add %n, %c : i64
///   %t = add %s, %c64 : tile<64xi64>        %t = splat %p : tile<64xi64>
/// Needs: nothing.  Leaves: no promise but the same meaning; dead ops stay for eliminate-dead-code.
PassResult canonicalize(ir::Function& function, PassContext& context);

}  // namespace tegula::transform

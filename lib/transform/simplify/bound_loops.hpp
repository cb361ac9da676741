// Rewrites loops whose counters might wrap.
#pragma once

#include "transform/common/pass.hpp"

namespace tegula::transform {

/// Rewrites loops so that counter, bounds and differences of bounds fit 64 bits, with room for some steps more. Passes
/// and code generation count on that. A loop that axis facts prove to be so stays as it is.
///
///   before: for %i = %lo to %hi step %s ...         after: %trips = ceil((%hi - %lo) / %s), 0 if %lo >= %hi
///                                                          for %t = 0 to %trips step 1 { %i = %lo + %t * %s ... }
///
/// Where %lo is small and %s a small number, a clamp of %hi is enough: no run reaches iteration 2^52. A step that may
/// be 0 or less stays so in the new loop. Needs: nothing.  Leaves: no promise.
PassResult bound_loops(ir::Function& function, PassContext& context);

}  // namespace tegula::transform

// Prefetches ring stages in warps that also read them.
#pragma once

#include "transform/common/pass.hpp"

namespace tegula::transform {

/// Moves the fills of a loop's rings D iterations before their readers, in a kernel whose warps are not specialised. D
/// is the loop's `distance`, or without one as large as the rings allow. A ring of S stages allows S iterations, or S -
/// 1 if a stage is released in the next iteration; S / 2 if two products of an iteration take turns with it.
///
///   before: for %i = %lo to %hi step %s carry (%use = %u) {
///             elect {role = producer} { fill of %i, %use }
///             ... readers of %i ...
///             yield %use + 1
///           }
///   after:  if %lo < %hi { elect { fill of %lo, %u } }              region = prologue, D times
///           for %i = %lo to %hi - D * %s ... {                      region = main
///             ... readers of %i ...
///             elect { fill of %i + D * %s, %use + D }
///           }
///           for %i = (where that ended) to %hi ... {                region = epilogue
///             ... readers of %i ...
///           }
///
/// A fill at the end of iteration i takes a stage that iteration i + D - S released, which is i itself at most.
/// Barriers of the CTA order the fill after the readers of the stage's previous contents. So no stage is released
/// through an empty mbarrier, and these are erased, unless readers stand in an inner loop, which may have no
/// iterations. If the epilogue releases nothing, loop-carried products are waited for after it, not in it. With the
/// option `epilogue = off`, and on targets without wgmma, the main loop runs to %hi with its fill under a test.
///
/// Rings of one stage keep their order. So do loops whose fills need anything else than the index, carried values to
/// which each iteration adds a constant, and values from outside. Needs: no-fetches; the attributes `ring`, `stages`
/// and `lag` that circular-buffer writes: a region without `ring` stays.  Leaves: no promise.
///
/// Order: after load-ahead, whose tiles then cross from the main loop to the epilogue.
PassResult run_ahead(ir::Function& function, PassContext& context);

}  // namespace tegula::transform

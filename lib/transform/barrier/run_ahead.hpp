// Prefetches ring stages in warps that also read them.
#pragma once

#include "transform/pass.hpp"

namespace tegula::transform {

/// In a kernel whose warps are not specialised, lets the fills of a loop's rings stand D iterations before their
/// readers: the loop's `distance`, or as many as the rings have stages, one less where a stage goes back in the next
/// iteration.
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
/// A fill at the end of iteration i takes a stage that iteration i + D - S gave back, which is i itself at most.
/// Barriers of the CTA order it behind the readers of what lay there before, so nothing is given back through empty
/// barriers: those go, unless readers stand in an inner loop, which may have no iterations. Products that the loop
/// carries from iteration to iteration are waited for behind the epilogue, not in it, where it gives nothing back. With
/// the option `epilogue = off` the main loop runs to %hi with its fill under a test. Rings of one stage, and loops
/// whose fills need more than the index, what is carried by adding a constant, and values from outside, keep their
/// order. Needs: no-fetches.  Leaves: no promise.
PassResult run_ahead(ir::Function& function, AnalysisCache& analyses, PassContext& context);

}  // namespace tegula::transform

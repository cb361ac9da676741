// Fills of rings that run ahead in the warps that read, too.
#pragma once

#include "transform/pass.hpp"

namespace tegula::transform {

/// In a kernel whose warps are not specialised, lets the fills of a loop's rings stand as many iterations before their
/// readers as the rings have stages but one.
///
///   before: for %i = %lo to %hi step %s carry (%use = %u) {     after: elect { fill of %lo, %u }            prologue,
///   S - 1
///             elect {role = producer} { fill of %i, %use }             elect { fill of %lo + %s, %u + 1 }   fills
///             ... readers of %i ...                                    for %i = %lo to %hi - (S-1) * %s ... {   main
///             loop yield %use + 1                                             ... readers of %i ...
///           }                                                            elect { fill of %i + (S-1) * %s, %use + S - 1
///           }
///                                                                      }
///                                                                      for %i = (where that ended) to %hi ... {
///                                                                      epilogue
///                                                                        ... readers of %i ...
///                                                                      }
///
/// The fills of the prologue stand under tests of the trip count. A fill at the end of iteration i waits for the stage
/// that iteration i - 1 or i gave back, so its lane waits for nothing that comes after it. The epilogue goes on at the
/// index at which the main loop stopped. Rings of one stage, and loops whose fills need more than the index, what is
/// carried by adding a constant, and values from outside, stay. Needs: no-fetches.  Leaves: no promise.
PassResult run_ahead(ir::Function& function, AnalysisCache& analyses, PassContext& context);

}  // namespace tegula::transform

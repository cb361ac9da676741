// Offsets of shared memory.
#pragma once

#include "transform/pass.hpp"

namespace tegula::transform {

/// Gives every op that exchanges through shared memory its place.
///
///   before: %m = reduce %x {axis = 1, combine = max} : ...
///   after:  %m = reduce %x {axis = 1, combine = max, scratch = 64} : ...
///
/// A place is live only while its op runs, so places may be shared; but one that is taken again needs a barrier before
/// it, so neighbours in program order get different places while the whole stays small. Needs: layouts.  Leaves:
/// `scratch`, a multiple of 16, on every op that needs shared memory; none on others.
PassResult allocate_shared_memory(ir::Function& function, AnalysisCache& analyses, PassContext& context);

}  // namespace tegula::transform

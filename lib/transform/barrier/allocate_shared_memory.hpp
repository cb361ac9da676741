// Assigns offsets in shared memory.
#pragma once

#include "transform/pass.hpp"

namespace tegula::transform {

/// Gives every user of shared memory that has none yet its place, such that no two overlap that hold something at one
/// time (analysis::Liveness), in as few bytes as it finds.
///
///   before: %s = shared_alloc {align = 128} : shared<64x64xbf16, dense>
///           %m = reduce %x {axis = 1, combine = max} : ...
///           call %m {callee = @f}
///   after:  %s = shared_alloc {align = 128, offset = 0} : shared<64x64xbf16, dense>
///           %m = reduce %x {axis = 1, combine = max, scratch = 8192} : ...
///           %at = constant {value = 8192 : i64} : i64
///           call %m, %at {callee = @f, virtual = 2048}       function @f(%m: ..., %shared: i64) shared = 2048 {
///
/// The text names the kind of each: explicit buffers are `shared_alloc`, `scratch` belongs to the op that exchanges
/// through it, `virtual` is all that a called function takes, the same at each call; where it begins differs from call
/// to call and is the last argument. Scratch that is taken again needs a barrier before it, so exchanges that follow
/// one another get different places while the whole stays below 8 KiB, which cost nothing since an SM has more for each
/// CTA, or takes a sixteenth more at most.
///
/// More than a CTA may have, and a call of a function that takes shared memory by several replicas of a partition, are
/// errors. Needs: layouts.  Leaves: shared-offsets.
PassResult allocate_shared_memory(ir::Function& function, AnalysisCache& analyses, PassContext& context);

}  // namespace tegula::transform

// Assigns offsets in shared memory.
#pragma once

#include "transform/common/pass.hpp"

namespace tegula::transform {

/// Places every user of shared memory that has no place yet, in as few bytes as it finds. No two users overlap that
/// hold data at one time (analysis::Liveness).
///
///   before: %s = buffer_alloc {align = 128} : shared<64x64xbf16, dense>
///           %m = reduce %x {axis = 1, combine = max} : ...
///           call %m {callee = @f}
///   after:  %s = buffer_alloc {align = 128, offset = 0} : shared<64x64xbf16, dense>
///           %m = reduce %x {axis = 1, combine = max, scratch = 8192} : ...
///           %at = constant {value = 8192 : i64} : i64
///           call %m, %at {callee = @f, virtual = 2048}       function @f(%m: ..., %shared: i64) shared = 2048 {
///
/// The text names the kind of each user:
/// - explicit buffers are `buffer_alloc`;
/// - `scratch` belongs to the op that exchanges through it;
/// - `virtual` is the memory of a called function, of the same size at each call; its offset differs from call to call
///   and is the last argument.
///
/// Reused scratch needs a barrier before it. So consecutive exchanges get different offsets while the total is below 8
/// KiB, or grows by at most a sixteenth. 8 KiB cost nothing, since an SM has more for each CTA.
///
/// More bytes than a CTA may have are an error. So is a call, by several replicas of a partition, of a function with
/// shared memory. Needs: layouts.  Leaves: shared-offsets.
PassResult allocate_shared_memory(ir::Function& function, PassContext& context);

}  // namespace tegula::transform

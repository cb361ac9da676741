// Finds the buffer of a value in shared memory, and the op that completes an asynchronous access.
#pragma once

#include <vector>

#include "ir/core/op.hpp"

namespace tegula::analysis {

/// Finds the buffer_alloc ops that a buffer, a view or an mbarrier may lie in, in the order they are found. There is
/// one, unless a loop carries it or a branch chooses it.
std::vector<ir::Op const*> buffers_of(ir::Value const& value);

using ir::Completion;
/// Tells how the op's asynchronous accesses are completed; `none` if it does not make one itself.
Completion completion_of(ir::Op const& op);
/// Returns the mbarrier that an op arrives at, waits for, initialises or lets a copy count on; null: none of this CTA.
ir::Value const* mbarrier_of(ir::Op const& op);

/// Groups of asynchronous accesses: how many commits came since the access.
inline bool commits(ir::Op const& op, Completion group) {
  return (group == Completion::bulk && op.is<ir::BulkCommitOp>()) ||
         (group == Completion::wgmma && op.is<ir::WgmmaCommitOp>()) ||
         (group == Completion::cp_async && op.is<ir::CpAsyncCommitOp>());
}
/// Counts the groups that a wait leaves open; -1: the op is not a wait for such groups.
std::int64_t leaves_open(ir::Op const& op, Completion group);

/// Finds the op after which the access that `op` starts is over, in the thread that started it. It is the first wait on
/// every path that counts enough commits. Null: none in this function.
ir::Op const* completed_at(ir::Op const& op);

}  // namespace tegula::analysis

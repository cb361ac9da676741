// Fences between the generic and the asynchronous proxy.
#pragma once

#include "transform/pass.hpp"

namespace tegula::transform {

/// Where copies and tensor cores read what threads wrote, or copies overwrite what threads read or wrote, the threads
/// that made those accesses execute fence_proxy_async before the barrier, or the arrival at an mbarrier, that hands the
/// bytes over (PTX: fence.proxy.async orders the thread's own accesses, so one in the thread that issues the copy does
/// not count).
///
///   before: shared_store %s, %x                   after: shared_store %s, %x
///           barrier                                      fence_proxy_async
///           elect {                                      barrier
///             tma_store %map, %s, ...                    elect {
///
/// A fence stands right before the last op that hands over, and each is needed. Fences that are there are respected.
/// Accesses to global memory are fenced for the global space. Where nothing orders two accesses no fence helps: see
/// insert-barriers. Of a called function, accesses count that are still unordered at its end.
///
/// Needs: layouts, shared-offsets, barriers.
PassResult insert_proxy_fences(ir::Function& function, AnalysisCache& analyses, PassContext& context);

}  // namespace tegula::transform

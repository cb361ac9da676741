// Inserts fences between the generic and the asynchronous proxy.
#pragma once

#include "transform/common/pass.hpp"

namespace tegula::transform {

/// Inserts fence_proxy_async where copies and tensor cores read bytes that threads wrote, or copies overwrite bytes
/// that threads read or wrote. The threads that made those accesses execute it before the barrier, or the arrival at an
/// mbarrier, that publishes the bytes. (PTX: fence.proxy.async orders the thread's own accesses; one in the thread that
/// issues the copy does not count, with two exceptions: lib/doc/memory_model.md, "Proxies".)
///
///   before: buffer_store %s, %x                   after: buffer_store %s, %x
///           barrier                                      fence_proxy_async
///           elect {                                      barrier
///             tma_store %map, %s, ...                    elect {
///
/// A fence stands right before the last op that hands over, and each fence is needed. Existing fences count. Accesses
/// to global memory are fenced for the global space. A fence does not help where nothing orders two accesses: see
/// insert-barriers. A called function contributes the accesses that are still unordered at its end.
///
/// Needs: layouts, shared-offsets, barriers.
PassResult insert_proxy_fences(ir::Function& function, PassContext& context);

}  // namespace tegula::transform

// Emits barriers of warps, CTAs and clusters, proxy fences, register reallocation and dependent launches.
#pragma once

#include <cstdint>

#include "codegen/nvptx/ptx/assembly.hpp"

namespace tegula::codegen::nvptx::ptx {

/// Names the memory whose generic and async accesses a proxy fence orders.
enum class ProxySpace : std::uint8_t { shared, shared_cluster, global, all };

/// Orders this thread's earlier generic accesses before later async ones of a thread that synchronises with it.
void fence_proxy_async(Builder& b, ProxySpace space);

/// Synchronises all threads of the CTA.
void barrier_cta(Builder& b);
/// Synchronises at a named barrier: `threads` counts those of sync and arrive together, a multiple of 32. `id` (i32) is
/// 0..15.
void barrier_sync(Builder& b, llvm::Value* id, std::int64_t threads);
void barrier_arrive(Builder& b, llvm::Value* id, std::int64_t threads);
/// Synchronises the executing warp's lanes.
void barrier_warp(Builder& b, std::uint32_t mask = 0xffffffff);

/// Arrives at the cluster's barrier; `release` makes earlier writes visible to the threads that wait. Relaxed is enough
/// after fence_mbarrier_init.
void cluster_arrive(Builder& b, bool release);
void cluster_wait(Builder& b);

/// Sets the registers per thread to a multiple of 8 in 24..256; the whole warpgroup executes it.
void setmaxnreg(Builder& b, bool increase, int registers);

void launch_dependents(Builder& b);
void wait_for_prerequisites(Builder& b);

}  // namespace tegula::codegen::nvptx::ptx

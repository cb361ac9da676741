// Emits mbarrier instructions. An address is 32 bits into the shared window; a `remote` one comes from mapa. Counts are
// arrivals, bytes are the ones that the async proxy will write.
#pragma once

#include <cstdint>

#include "codegen/nvptx/ptx/assembly.hpp"

namespace tegula::codegen::nvptx::ptx {

/// Counts the bytes of an mbarrier in shared memory.
inline constexpr std::int64_t mbarrier_bytes = 8;

/// Names how far an arrival releases and a wait acquires. Default of PTX: the CTA.
enum class Scope : std::uint8_t { cta, cluster };

void mbarrier_init(Builder& b, llvm::Value* barrier, std::int64_t count);
void mbarrier_inval(Builder& b, llvm::Value* barrier);

/// Arrives `count` times in each executing thread. `at_once`: one instruction does (sm_90), else one for each time.
void mbarrier_arrive(Builder& b, llvm::Value* barrier, std::int64_t count = 1, bool at_once = true);
/// Expects `bytes` (i32) more in this phase, then arrives once.
void mbarrier_arrive_expect_tx(Builder& b, llvm::Value* barrier, llvm::Value* bytes);
/// Expects `bytes` more and does not arrive.
void mbarrier_expect_tx(Builder& b, llvm::Value* barrier, llvm::Value* bytes);

/// Returns the address of the same offset in another CTA of the cluster.
llvm::Value* mapa(Builder& b, llvm::Value* address, llvm::Value* rank);
/// Arrives on a barrier of any CTA of the cluster, and releases for it. The default scope, the CTA, would not order
/// accesses there, not even reads before the peer's next write.
void mbarrier_arrive_remote(Builder& b, llvm::Value* remote, std::int64_t count = 1, bool relaxed = false);
/// Writes 1, 2 or 4 words to address + offset in any CTA of the cluster where `predicate` (null: always) holds. The
/// barrier of that CTA counts their bytes. PTX 8.1.
void store_async(Builder& b, llvm::Value* address, std::int64_t offset, std::vector<llvm::Value*> const& words,
                 llvm::Value* barrier, llvm::Value* predicate);

/// Waits for the phase of this parity (i32, 0 or 1): a loop of two blocks around try_wait, which may return early, or
/// around test_wait, which does not suspend. The builder goes on after the loop.
void mbarrier_wait(Builder& b, llvm::Value* barrier, llvm::Value* parity, Scope scope = Scope::cta,
                   bool suspends = true);

/// Arrives when this thread's earlier cp.async are done; `counted` when the barrier's count includes this arrival.
void cp_async_mbarrier_arrive(Builder& b, llvm::Value* barrier, bool counted);

/// Makes initialised barriers visible to the cluster and to TMA; a CTA or cluster barrier follows.
void fence_mbarrier_init(Builder& b);

}  // namespace tegula::codegen::nvptx::ptx

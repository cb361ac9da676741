// Emits bulk copies of the async proxy: tensor copies through a tensor map, and linear ones. One thread issues each.
// Shared addresses are 32 bits; `map` is the generic address of a 128-byte by-value parameter. Coordinates (i32) count
// elements, the innermost axis first.
#pragma once

#include <cstdint>

#include "codegen/nvptx/ptx/assembly.hpp"

namespace tegula::codegen::nvptx::ptx {

/// Names the combination of a reducing copy with the destination.
enum class BulkReduce : std::uint8_t { add, min, max, inc, dec, bit_and, bit_or, bit_xor };

/// Says how long L2 should keep the lines of a copy.
enum class CachePolicy : std::uint8_t { evict_first, evict_last, evict_normal };
/// Returns the policy as the i64 operand that copies take.
llvm::Value* cache_policy(Builder& b, CachePolicy policy);

struct LoadOptions {
  llvm::Value* multicast = nullptr;  ///< i16: bit r delivers to the same offsets of CTA r of the cluster
  llvm::Value* policy = nullptr;     ///< i64
};

/// Copies global to shared; the mbarrier counts the bytes of the whole box.
void tma_load(Builder& b, llvm::Value* destination, llvm::Value* map, Values const& coordinates, llvm::Value* barrier,
              LoadOptions options = {});
/// Copies shared to global, in this thread's open bulk group.
void tma_store(Builder& b, llvm::Value* map, Values const& coordinates, llvm::Value* source,
               llvm::Value* policy = nullptr);
void tma_reduce(Builder& b, BulkReduce operation, llvm::Value* map, Values const& coordinates, llvm::Value* source);
/// Prefetches into L2 only.
void tma_prefetch(Builder& b, llvm::Value* map, Values const& coordinates);
void prefetch_tensor_map(Builder& b, llvm::Value* map);
/// Prefetches a range of global memory into L2 where `predicate` holds. Address and bytes are multiples of 16.
void bulk_prefetch(Builder& b, llvm::Value* global, llvm::Value* bytes, llvm::Value* predicate);

/// Copy linearly: `bytes` (i32) a multiple of 16, both addresses 16-byte aligned, `global` a global address (i64).
void bulk_load(Builder& b, llvm::Value* destination, llvm::Value* global, llvm::Value* bytes, llvm::Value* barrier,
               LoadOptions options = {});
void bulk_store(Builder& b, llvm::Value* global, llvm::Value* source, llvm::Value* bytes);

/// Closes this thread's bulk group of stores and reductions.
void bulk_commit(Builder& b);
/// Waits until at most `pending` groups of this thread are open; with `read` only their sources are free, the results
/// may not be written yet.
void bulk_wait(Builder& b, int pending, bool read);

}  // namespace tegula::codegen::nvptx::ptx

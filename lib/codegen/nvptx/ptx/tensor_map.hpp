// Emits the instructions for tensor maps in global memory: replaced fields, and the fences between the generic proxy
// and the one that reads maps. Addresses are global ones (i64).
#pragma once

#include "codegen/nvptx/ptx/assembly.hpp"

namespace tegula::codegen::nvptx::ptx {

/// Replaces the tensor's address (i64) in the map.
void replace_address(Builder& b, llvm::Value* map, llvm::Value* address);
/// Replaces an extent (i32, at least 1) in the map; axis 0 is the innermost.
void replace_extent(Builder& b, llvm::Value* map, int axis, llvm::Value* extent);
/// Orders this thread's writes of maps before the acquires of other threads that follow it.
void release_tensor_maps(Builder& b);
/// Orders earlier releases before copies that read the map.
void acquire_tensor_map(Builder& b, llvm::Value* map);

/// Sets a bit of a bit set in global memory, which is clear and which the thread owns then; returns its number (i32).
/// Words are tried in turn, from number `first` (i32) on. It waits while all `words` words are full.
llvm::Value* claim_bit(Builder& b, llvm::Value* bits, llvm::Value* first, int words);
/// Clears the bit of that number.
void free_bit(Builder& b, llvm::Value* bits, llvm::Value* number);

}  // namespace tegula::codegen::nvptx::ptx

// Emits per-thread asynchronous copies of the generic proxy, as on sm_80.
#pragma once

#include "codegen/nvptx/ptx/assembly.hpp"

namespace tegula::codegen::nvptx::ptx {

/// Copies `size` (4, 8 or 16) bytes from a global (i64) to a shared (i32) address, both aligned to the size. With
/// `valid` (i32, at most size) only so many bytes are read and the rest is zero; 0 does not read memory.
void cp_async(Builder& b, llvm::Value* destination, llvm::Value* global, int size, llvm::Value* valid = nullptr);
void cp_async_commit(Builder& b);
/// Waits until at most `pending` groups of this thread are open. Only this thread sees the data; a barrier follows.
void cp_async_wait(Builder& b, int pending);

}  // namespace tegula::codegen::nvptx::ptx

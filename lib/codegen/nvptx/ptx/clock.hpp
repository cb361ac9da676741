// Emits reads of clocks and of the numbers of the place where a thread runs.
#pragma once

#include "codegen/nvptx/ptx/assembly.hpp"

namespace tegula::codegen::nvptx::ptx {

/// Returns the low 32 bits of the multiprocessor's cycle counter (i32). Stays between the accesses around it, and
/// after the computation of some registers.
llvm::Value* clock(Builder& b, Values const& after = {});
/// Returns the time in ns that all multiprocessors share (i64).
llvm::Value* global_timer(Builder& b);
/// Returns the number of the launch in its context (i64).
llvm::Value* grid_number(Builder& b);
/// Returns the number of the multiprocessor (i32).
llvm::Value* multiprocessor(Builder& b);
/// Returns the number of the lane (i32), read here: no register holds it from an earlier place.
llvm::Value* lane(Builder& b);
/// Adds 1 to the u32 at a global address where `predicate` holds and returns the old value, else `otherwise` (i32).
llvm::Value* count_up(Builder& b, llvm::Value* address, llvm::Value* predicate, llvm::Value* otherwise);

}  // namespace tegula::codegen::nvptx::ptx

// Emits instructions of the lanes of one warp: election, shuffles, votes, matrix moves between registers and shared
// memory. Whole converged warps only.
#pragma once

#include <cstdint>

#include "codegen/nvptx/ptx/assembly.hpp"

namespace tegula::codegen::nvptx::ptx {

/// True (i1) in one lane of the warp, the same one each time.
llvm::Value* elect(Builder& b);

/// Returns the i32 value of lane `lane`; of a constant lane ptxas knows that the result is the same in the whole warp.
llvm::Value* shuffle_idx(Builder& b, llvm::Value* value, llvm::Value* lane);
/// Returns the i32 value of the lane whose number differs by `mask`.
llvm::Value* shuffle_xor(Builder& b, llvm::Value* value, std::uint32_t mask);

/// Returns an i32 value as a register of this place: what follows from it is not computed ahead of a loop around, where
/// it would live through the loop.
llvm::Value* copied_here(Builder& b, llvm::Value* value);

/// Returns the number of this CTA in its cluster (i32).
llvm::Value* cluster_rank(Builder& b);

llvm::Value* vote_any(Builder& b, llvm::Value* predicate);
llvm::Value* vote_all(Builder& b, llvm::Value* predicate);
/// Returns the lanes in which a predicate is true, as bits (i32).
llvm::Value* ballot(Builder& b, llvm::Value* predicate);

/// Loads 1, 2 or 4 matrices of 8 rows of 16 bytes. Lane 8 j + i gives the address of row i of matrix j, and each lane
/// receives one i32 of each matrix. `transposed` swaps rows and columns of 16-bit elements.
Values ldmatrix(Builder& b, llvm::Value* address, int matrices, bool transposed);
void stmatrix(Builder& b, llvm::Value* address, Values const& registers, bool transposed);

}  // namespace tegula::codegen::nvptx::ptx

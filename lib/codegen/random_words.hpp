// Emits the words of Philox4x32-10, on scalars or vectors.
#pragma once

#include <array>

#include "codegen/llvm_fwd.hpp"

namespace tegula::codegen {

using RandomWords = std::array<llvm::Value*, 4>;

/// Computes the words of a counter of 32 or 64 bits, with sign, and a key of 64 bits.
RandomWords random_words(llvm::IRBuilderBase& builder, llvm::Value* seed, llvm::Value* counter);

/// Joins two words to an integer of 64 bits.
llvm::Value* join_words(llvm::IRBuilderBase& builder, llvm::Value* low, llvm::Value* high);

}  // namespace tegula::codegen

// Approximate functions, packed conversions and clocks of one thread.
#pragma once

#include "codegen/nvptx/ptx/assembly.hpp"

namespace tegula::codegen::nvptx::ptx {

/// 2^x, log2 x and 1 / x of f32; subnormals count as zero. Errors: about 2^-22 relative (2^-22 absolute for lg2 near
/// 1).
llvm::Value* ex2_approx(Builder& b, llvm::Value* x);
llvm::Value* lg2_approx(Builder& b, llvm::Value* x);
llvm::Value* rcp_approx(Builder& b, llvm::Value* x);

/// Two f32, each rounded once, as one i32: `low` in bits 0..15.
llvm::Value* pack_bf16(Builder& b, llvm::Value* low, llvm::Value* high);
llvm::Value* pack_f16(Builder& b, llvm::Value* low, llvm::Value* high);
/// The nearest tf32 of an f32, ties away from zero, as an i32 fragment register.
llvm::Value* round_tf32(Builder& b, llvm::Value* x);

/// Nanoseconds of a clock that all SMs share, and cycles of this SM (i64).
llvm::Value* global_timer(Builder& b);
llvm::Value* clock(Builder& b);

}  // namespace tegula::codegen::nvptx::ptx

// Emits approximate reciprocals, packed conversions and shifts of word pairs, each of one thread.
#pragma once

#include "codegen/nvptx/ptx/assembly.hpp"
#include "tegula/ir/type.hpp"

namespace tegula::codegen::nvptx::ptx {

/// Computes 1 / x of f32; subnormals count as zero. The error is about 2^-22.
llvm::Value* rcp_approx(Builder& b, llvm::Value* x);

/// Returns the low word of high:low shifted right by `bits` mod 32. LLVM 19 expands its intrinsic (fshr) into six ops.
llvm::Value* shift_right_pair(Builder& b, llvm::Value* low, llvm::Value* high, llvm::Value* bits);

/// Packs two f32, each rounded once, as one i32: `low` in bits 0..15.
llvm::Value* pack_bf16(Builder& b, llvm::Value* low, llvm::Value* high);
llvm::Value* pack_f16(Builder& b, llvm::Value* low, llvm::Value* high);
/// Returns the 8-bit float nearest to an f32, saturating, as an i8. Returns two of them as an i16, `low`
/// in bits 0..7. narrowed_f8 returns the f32 from which narrow_f8 made a value, or null. PTX 7.8.
llvm::Value* narrow_f8(Builder& b, Element element, llvm::Value* x);
llvm::Value* narrowed_f8(llvm::Value* value);
llvm::Value* pack_f8(Builder& b, Element element, llvm::Value* low, llvm::Value* high);
/// Returns the exact f32 of a float of 8 bits (i8).
llvm::Value* widen_f8(Builder& b, Element element, llvm::Value* bits);

}  // namespace tegula::codegen::nvptx::ptx

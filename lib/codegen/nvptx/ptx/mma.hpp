// Emits tensor core products: mma.sync of one warp and wgmma of a warpgroup. Registers are f32 (f), packed or whole
// 32-bit words (i32) as PTX's fragments say. Operands of element f32 are tf32.
#pragma once

#include <cstdint>

#include "codegen/nvptx/ptx/assembly.hpp"
#include "tegula/ir/type.hpp"

namespace tegula::codegen::nvptx::ptx {

enum class MmaResult : std::uint8_t { f16, f32, s32 };

/// Returns K of one wgmma or mma instruction: 32 bytes.
[[nodiscard]] int wgmma_depth(Element element);

/// Counts the registers of A and B of one mma.
struct MmaRegisters {
  int a = 4, b = 2;
};
[[nodiscard]] MmaRegisters mma_registers(Element element);

/// Computes D = A * B + C for one warp, m16n8: k16 of 16-bit, k8 of tf32, k32 of 8-bit elements, k4 of f64. C and D
/// have four registers (f32, i32 or f64). 8-bit floats need PTX 8.4.
/// `whole_f64`: one instruction takes 16 rows of f64 (sm_90), else two do.
Values mma_sync(Builder& b, Element a_element, Element b_element, Values const& a, Values const& b_registers,
                Values const& c, bool whole_f64);

/// Describes one wgmma instruction: 64 x n, K is 32 bytes.
struct WgmmaForm {
  int n = 8;
  Element a = Element::bf16, b = Element::bf16;
  MmaResult d = MmaResult::f32;
  bool a_transposed = false;     ///< M is contiguous in shared memory; 16-bit elements only
  bool b_transposed = false;     ///< N is contiguous in shared memory; 16-bit elements only
  int scale_a = 1, scale_b = 1;  ///< 1 or -1; floating point only
  bool saturate = false;         ///< s32 only
};

/// Counts the registers of D per thread.
[[nodiscard]] int wgmma_registers(WgmmaForm const& form);

/// Describes one wgmma of several: its A is four registers (i32), or the first descriptor advanced by `a_bytes`;
/// `result` is the number of its D. Offsets are multiples of 16 inside of the same tile.
struct WgmmaStep {
  Values a = {};
  std::int64_t a_bytes = 0;
  std::int64_t b_bytes = 0;
  std::size_t result = 0;
};

/// Holds several wgmmas, issued in the order of `steps`.
struct WgmmaGroup {
  WgmmaForm form;
  llvm::Value* a_descriptor = nullptr;  ///< i64; null: each step has registers
  llvm::Value* b_descriptor = nullptr;  ///< i64
  std::vector<WgmmaStep> steps = {};
  /// The registers of each D before its first step; if they are empty, that step computes D = A * B.
  std::vector<Values> results = {};
  llvm::Value* accumulate = nullptr;  ///< i1, tells whether the old values of results count; null: they do
  bool fence = false;                 ///< a fence stands before the first
};

/// Issues D (+)= A * B for each step. All are one statement of inline assembly, since LLVM's time grows with the
/// registers that pass through each; descriptors are advanced in it, so that no more than two are kept. Returns the
/// registers of each D, which must not be accessed before the wait that covers them has returned them.
std::vector<Values> wgmmas(Builder& b, WgmmaGroup const& group);

/// Orders ordinary accesses to the registers before the wgmmas that follow. Returns the registers to use from here.
Values wgmma_fence(Builder& b, Values const& registers);
void wgmma_commit(Builder& b);
/// Waits until at most `pending` groups of the warp are open. Returns the registers (accumulators, and A registers that
/// must live until now) to use from here: their uses cannot move before the wait.
Values wgmma_wait(Builder& b, int pending, Values const& registers);

/// Holds fields of a shared matrix descriptor besides the address: see the PTX ISA, "matrix descriptor".
struct DescriptorFields {
  std::int64_t leading_bytes = 16;
  std::int64_t stride_bytes = 0;
  int swizzle_bytes = 128;  ///< 128, 64, 32; 16: none
};

/// Makes the 64-bit descriptor of a tile at a shared address (i32). Only 18 bits of the address count: in a cluster
/// launch the shared window lies above rank << 24.
llvm::Value* matrix_descriptor(Builder& b, llvm::Value* address, DescriptorFields const& fields);

}  // namespace tegula::codegen::nvptx::ptx

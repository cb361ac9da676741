// Chooses how the operands of a product are packed, and emits the instruction that multiplies them. Private to this
// folder.
#pragma once

#include "codegen/host/emitter.hpp"

namespace tegula::codegen::host {

/// Returns the widest steps that this CPU has for a product of these two tiles, packed. Extents of k that are not a
/// multiple of a word's elements are multiplied one by one.
Step step_of(HostTarget const& target, ir::Type const& left, ir::Type const& right);

/// Returns the bits of a packed element; 0: as in registers.
int packed_bits(Step step);
/// Counts the elements of adjacent k in a packed word; 1 for elements as in registers.
int group_of(Step step);
/// True where the sign bits of the left operand are flipped: one instruction multiplies unsigned by signed bytes.
bool flips_left(ir::Type const& left, ir::Type const& right, Step step);

/// Names the instruction, for explain().
char const* instruction(Step step);

/// Emits sum += left * right, or several such products of one word.
llvm::Value* multiply_add(llvm::IRBuilder<>& b, HostTarget const& target, Step step, llvm::Value* left,
                          llvm::Value* right, llvm::Value* sum);

/// Returns the bits of a bf16 that is held in f32, in the low half of words of 32 bits.
llvm::Value* bf16_bits(llvm::IRBuilder<>& b, llvm::Value* value);

/// Joins the elements of adjacent k, one vector (or scalar) each as in registers, to words.
llvm::Value* joined(llvm::IRBuilder<>& b, std::vector<llvm::Value*> const& elements);

/// The smallest magnitude, as bits less 1, of the nonzero elements of operands that `bf16_pairs` multiplies without an
/// error: 2^-56. A product of two such is a multiple of 2^-126, as is each rounded sum of them. So no product or sum
/// is subnormal, and the instruction, which takes and returns 0 for subnormal numbers, does not meet any.
inline constexpr std::uint32_t min_bf16 = ((127 - 56) << 7) - 1;

}  // namespace tegula::codegen::host

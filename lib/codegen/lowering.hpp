// Lowers elementwise ops to LLVM values for the host; nvptx/lower_arith.cpp does it for the GPU. Loops, memory and
// layouts are elsewhere.
#pragma once

#include <span>

#include "codegen/llvm_fwd.hpp"
#include "ir/op.hpp"

namespace tegula::codegen {

/// Lists the conversions and the sums of products that a target has instructions for.
struct ArithTraits {
  bool native_f16 = false;   ///< fptrunc/fpext between half and float select to instructions
  bool native_bf16 = false;  ///< the same for bfloat
  bool native_fma = true;    ///< products and sums rounded once
};

/// Lowers one elementwise op at a time, on scalars or on fixed vectors (all operands with one lane count).
///
/// Elements are held in registers as follows:
/// - booleans as i1, i32, i64, f32 and f64 as themselves;
/// - integers of 8 and 16 bits as the i32 of their value; the bits of e4m3 and e5m2 as i32, with copies of the sign
///   above;
/// - f16 and bf16 as an f32 whose value is exact in the format, so that widening is free and each op rounds once. In
///   memory, and in scratch given to others, f16, bf16 and integers of 16 bits are i16. Elements of 8 bits and booleans
///   are i8.
class ArithLowering {
 public:
  ArithLowering(llvm::IRBuilderBase& builder, ArithTraits traits) : builder_(builder), traits_(traits) {}

  /// Lowers an elementwise op with an instruction or a formula here. Throws UserError with the op's line for others:
  /// expand-math must have replaced the expanded rows of elementary.def.
  llvm::Value* lower(ir::Op const& op, std::span<llvm::Value* const> operands);

  // Their parts.
  llvm::Value* add(Element element, llvm::Value* a, llvm::Value* b);
  llvm::Value* max(Element element, llvm::Value* a, llvm::Value* b);
  llvm::Value* min(Element element, llvm::Value* a, llvm::Value* b);
  /// Combines two elements as reductions and scans do.
  llvm::Value* combine(ir::Combine operation, Element element, llvm::Value* a, llvm::Value* b);
  llvm::Value* cast(Element from, Element to, llvm::Value* value);
  /// Returns the bits of an element as another one of the same width.
  /// Returns a * b + c rounded once; null for f64 on a target without an instruction for it.
  llvm::Value* fma(Element element, llvm::Value* a, llvm::Value* b, llvm::Value* c);
  llvm::Value* same_bits(Element from, Element to, llvm::Value* value);
  llvm::Value* compare(ir::Predicate predicate, Element element, llvm::Value* a, llvm::Value* b);
  llvm::Value* shift_left(llvm::Value* a, llvm::Value* b);
  llvm::Value* shift_right(Element element, llvm::Value* a, llvm::Value* b);
  struct Quotient {
    llvm::Value* quotient;
    llvm::Value* remainder;
  };
  /// Divides integers.
  Quotient divide(Element element, llvm::Value* a, llvm::Value* b);
  /// Rounds an f32 to the values of f16 or bf16 (nearest even, NaN to the quiet one of its sign); others unchanged.
  llvm::Value* round_to(Element element, llvm::Value* value);

  /// Returns the type in registers; the next one, in memory.
  llvm::Type* register_type(Element element);
  llvm::Type* memory_type(Element element);
  llvm::Value* from_memory(Element element, llvm::Value* bits);
  llvm::Value* to_memory(Element element, llvm::Value* value);
  /// Returns a scalar constant in register form.
  llvm::Value* constant(ir::Constant value);

 private:
  llvm::Value* like(llvm::Value* shape, llvm::Type* scalar, std::uint64_t bits);
  llvm::Type* type_like(llvm::Value* shape, llvm::Type* scalar);
  llvm::Value* extreme(bool greater, llvm::Value* a, llvm::Value* b);
  llvm::Value* narrow_to_odd(llvm::Value* f64);
  llvm::Value* fma_through_f64(llvm::Value* a, llvm::Value* b, llvm::Value* c);
  llvm::Value* f16_bits(llvm::Value* f32);
  llvm::Value* f16_value(llvm::Value* bits);

  llvm::IRBuilderBase& builder_;
  ArithTraits traits_;
};

}  // namespace tegula::codegen

// Holds elements in the registers of hosts, and computes floats there.
#pragma once

#include "codegen/lowering.hpp"

namespace tegula::codegen::host {

/// Lists the conversions and the sums of products that a target has instructions for.
struct ArithTraits {
  bool native_f16 = false;   ///< fptrunc/fpext between half and float select to instructions
  bool native_bf16 = false;  ///< the same for bfloat
  bool native_fma = true;    ///< products and sums rounded once
};

/// Lowers elementwise ops for hosts. Elements are held in registers as follows:
/// - booleans as i1, i32, i64, f32 and f64 as themselves;
/// - integers of 8 and 16 bits as the i32 of their value; the bits of floats of 8 bits as i32, with copies of the sign
///   above;
/// - f16 and bf16 as an f32 whose value is exact in the format, so that widening is free and each op rounds once. In
///   memory, and in scratch given to others, f16, bf16 and integers of 16 bits are i16. Elements of 8 bits and booleans
///   are i8.
class HostArith : public ArithLowering {
 public:
  HostArith(llvm::IRBuilderBase& builder, ArithTraits traits) : ArithLowering(builder), traits_(traits) {}

  /// Rounds an f32 to the values of f16 or bf16 (nearest even, NaN to the quiet one of its sign); others unchanged.
  llvm::Value* round_to(Element element, llvm::Value* value);
  llvm::Type* memory_type(Element element);
  llvm::Value* from_memory(Element element, llvm::Value* bits);
  llvm::Value* to_memory(Element element, llvm::Value* value);
  /// Returns a scalar constant in register form.
  llvm::Value* constant(ir::Constant value);

  [[nodiscard]] RegisterClass register_class(Element element) const override { return info(element).host; }
  llvm::Value* widen(Element, llvm::Value* value) override { return value; }
  llvm::Value* narrow(Element element, llvm::Value* value) override { return round_to(element, value); }
  llvm::Value* narrow_exact(Element, llvm::Value* value) override { return value; }
  llvm::Value* extreme(bool greater, llvm::Value* a, llvm::Value* b) override;
  llvm::Value* divide_floats(ir::DivOp const& division, llvm::Value* a, llvm::Value* b) override;
  llvm::Value* square_root(ir::SqrtOp const& root, llvm::Value* a) override;
  /// Null for f64 on a target without an instruction for it.
  llvm::Value* fma(Element element, llvm::Value* a, llvm::Value* b, llvm::Value* c) override;
  llvm::Value* float_from_boolean(Element to, llvm::Value* value) override;
  llvm::Value* float_from_integer(Element from, Element to, llvm::Value* value) override;
  llvm::Value* integer_from_float(Element from, Element to, llvm::Value* value) override;
  llvm::Value* float_from_float(Element from, Element to, llvm::Value* value) override;
  llvm::Value* same_bits(Element from, Element to, llvm::Value* value) override;
  llvm::Value* lower_own(ir::Op const& op, llvm::Value* operand) override;

 private:
  llvm::Value* like(llvm::Value* shape, llvm::Type* scalar, std::uint64_t bits);
  llvm::Value* narrow_to_odd(llvm::Value* f64);
  llvm::Value* fma_through_f64(llvm::Value* a, llvm::Value* b, llvm::Value* c);
  llvm::Value* f16_bits(llvm::Value* f32);
  llvm::Value* f16_value(llvm::Value* bits);

  ArithTraits traits_;
};

}  // namespace tegula::codegen::host

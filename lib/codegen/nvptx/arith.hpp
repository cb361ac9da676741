// Computes on the registers of GPUs: floats, and conversions from and to them.
#pragma once

#include "codegen/lowering.hpp"

namespace tegula::codegen::nvptx {

class Emitter;

/// Lowers elementwise ops of one register at a time. Floats of 8 and 16 bits are computed in f32 and rounded once.
class DeviceArith : public ArithLowering {
 public:
  explicit DeviceArith(Emitter& emitter);

  [[nodiscard]] RegisterClass register_class(Element element) const override;
  llvm::Value* widen(Element element, llvm::Value* value) override;
  llvm::Value* narrow(Element element, llvm::Value* value) override;
  llvm::Value* narrow_exact(Element element, llvm::Value* value) override { return narrow(element, value); }
  llvm::Value* extreme(bool greater, llvm::Value* a, llvm::Value* b) override;
  llvm::Value* divide_floats(ir::DivOp const& division, llvm::Value* a, llvm::Value* b) override;
  llvm::Value* square_root(ir::SqrtOp const& root, llvm::Value* a) override;
  llvm::Value* fma(Element element, llvm::Value* a, llvm::Value* b, llvm::Value* c) override;
  llvm::Value* float_from_boolean(Element to, llvm::Value* value) override;
  llvm::Value* float_from_integer(Element from, Element to, llvm::Value* value) override;
  llvm::Value* integer_from_float(Element from, Element to, llvm::Value* value) override;
  llvm::Value* float_from_float(Element from, Element to, llvm::Value* value) override;
  llvm::Value* same_bits(Element from, Element to, llvm::Value* value) override;
  llvm::Value* shift_out(bool left, llvm::Value* a, llvm::Value* amount) override;
  llvm::Value* divide_index(llvm::Value* a, llvm::Value* by) override;
  llvm::Value* lower_own(ir::Op const& op, llvm::Value* operand) override;

 private:
  llvm::Value* truncated(Element to, llvm::Value* value);

  Emitter& e_;
};

}  // namespace tegula::codegen::nvptx

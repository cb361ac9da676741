// Lowers elementwise ops to LLVM values, once for all targets: integers, comparisons, shifts, selections and casts. A
// target says how its registers hold elements and how it computes floats. Loops, memory and layouts are elsewhere.
#pragma once

#include <span>

#include "codegen/llvm_fwd.hpp"
#include "ir/core/op.hpp"

namespace tegula::codegen {

/// Returns the LLVM type of a register.
llvm::Type* type_of(llvm::IRBuilderBase& builder, RegisterClass held);

/// Returns the scalar type, or a vector of it with as many lanes as `shape` has.
llvm::Type* type_like(llvm::Value* shape, llvm::Type* scalar);

/// Lowers one elementwise op at a time, on scalars or on fixed vectors (all operands with one lane count). Integers,
/// and floats without arithmetic, are in registers of at least their width; those that are wider hold the value.
class ArithLowering {
 public:
  explicit ArithLowering(llvm::IRBuilderBase& builder) : builder_(builder) {}
  virtual ~ArithLowering() = default;
  ArithLowering(ArithLowering const&) = delete;
  ArithLowering& operator=(ArithLowering const&) = delete;

  /// Lowers an elementwise op with an instruction or a formula here or in the target. Throws UserError with the op's
  /// line for others: expand-math must have replaced the expanded rows of elementary.def.
  llvm::Value* lower(ir::Op const& op, std::span<llvm::Value* const> operands);

  // Its parts. Floats are given as they are computed with (widen), and results are so too.
  llvm::Value* add(Element element, llvm::Value* a, llvm::Value* b);
  llvm::Value* max(Element element, llvm::Value* a, llvm::Value* b);
  llvm::Value* min(Element element, llvm::Value* a, llvm::Value* b);
  /// Combines two elements as reductions and scans do.
  llvm::Value* combine(ir::Combine operation, Element element, llvm::Value* a, llvm::Value* b);
  llvm::Value* cast(Element from, Element to, llvm::Value* value);
  llvm::Value* compare(ir::Predicate predicate, Element element, llvm::Value* a, llvm::Value* b);
  /// Divide integers with x / 0 = 0, x % 0 = x and min / -1 = min, without undefined behaviour.
  llvm::Value* quotient(Element element, llvm::Value* a, llvm::Value* b);
  llvm::Value* remainder(Element element, llvm::Value* a, llvm::Value* b);

  [[nodiscard]] llvm::IRBuilderBase& builder() const { return builder_; }
  llvm::Type* register_type(Element element) { return type_of(builder_, register_class(element)); }

  // Decisions of the target.
  [[nodiscard]] virtual RegisterClass register_class(Element element) const = 0;
  /// Returns a float in a register as the float with which the target computes; others unchanged.
  virtual llvm::Value* widen(Element element, llvm::Value* value) = 0;
  /// Returns a computed float as its register holds it, rounded once; others unchanged.
  virtual llvm::Value* narrow(Element element, llvm::Value* value) = 0;
  /// Does the same for a number that is one of the element's.
  virtual llvm::Value* narrow_exact(Element element, llvm::Value* value) = 0;
  /// Returns the maximum or the minimum of two floats, the other one when one is NaN.
  virtual llvm::Value* extreme(bool greater, llvm::Value* a, llvm::Value* b) = 0;
  virtual llvm::Value* divide_floats(ir::DivOp const& division, llvm::Value* a, llvm::Value* b) = 0;
  virtual llvm::Value* square_root(ir::SqrtOp const& root, llvm::Value* a) = 0;
  /// Returns a * b + c rounded once; null where the target has no instruction and no formula for it.
  virtual llvm::Value* fma(Element element, llvm::Value* a, llvm::Value* b, llvm::Value* c) = 0;
  /// Convert registers as CastOp does, from or to a float.
  virtual llvm::Value* float_from_boolean(Element to, llvm::Value* value) = 0;
  virtual llvm::Value* float_from_integer(Element from, Element to, llvm::Value* value) = 0;
  virtual llvm::Value* integer_from_float(Element from, Element to, llvm::Value* value) = 0;
  virtual llvm::Value* float_from_float(Element from, Element to, llvm::Value* value) = 0;
  /// Returns the bits of an element as another one of the same width.
  virtual llvm::Value* same_bits(Element from, Element to, llvm::Value* value) = 0;
  /// Shifts left or logically right; amounts outside 0..bits-1 give 0.
  virtual llvm::Value* shift_out(bool left, llvm::Value* a, llvm::Value* amount);
  /// Divides an index, which is a scalar.
  virtual llvm::Value* divide_index(llvm::Value* a, llvm::Value* b) { return quotient(Element::i64, a, b); }
  /// Lowers an op that only this target runs; UserError for others.
  virtual llvm::Value* lower_own(ir::Op const& op, llvm::Value* operand) = 0;

 protected:
  llvm::IRBuilderBase& builder_;
};

}  // namespace tegula::codegen

#include "codegen/lowering.hpp"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Intrinsics.h>

#include <type_traits>

#include "codegen/random_words.hpp"
#include "ir/core/visit_op.hpp"
#include "tegula/support/error.hpp"

namespace tegula::codegen {

using ir::Predicate;

namespace {

llvm::Value* zero_like(llvm::Value* shape) { return llvm::Constant::getNullValue(shape->getType()); }
llvm::Value* integer_like(llvm::Value* shape, llvm::APInt const& value) {
  return llvm::ConstantInt::get(shape->getType(), value);
}
llvm::Value* integer_like(llvm::Value* shape, std::uint64_t value) {
  return llvm::ConstantInt::get(shape->getType(), value);
}

/// Holds a divisor for which hardware division is defined, and whether the given one is 0.
struct SafeDivisor {
  llvm::Value* value;
  llvm::Value* is_zero;
};
SafeDivisor safe_divisor(llvm::IRBuilderBase& b, Element element, llvm::Value* lhs, llvm::Value* rhs) {
  unsigned const width = rhs->getType()->getScalarSizeInBits();
  llvm::Value *const one = integer_like(rhs, 1), *const is_zero = b.CreateICmpEQ(rhs, zero_like(rhs));
  if (!is_signed(element)) return {b.CreateSelect(is_zero, one, rhs), is_zero};
  // The minimum value / -1 wraps to itself, with remainder 0: so does division by 1.
  llvm::Value* const is_min = b.CreateICmpEQ(lhs, integer_like(lhs, llvm::APInt::getSignedMinValue(width)));
  llvm::Value* const by_minus_one = b.CreateICmpEQ(rhs, integer_like(rhs, llvm::APInt::getAllOnes(width)));
  llvm::Value* const wraps = b.CreateAnd(by_minus_one, is_min);
  return {b.CreateSelect(b.CreateOr(is_zero, wraps), one, rhs), is_zero};
}

}  // namespace

llvm::Type* type_of(llvm::IRBuilderBase& builder, RegisterClass held) {
  switch (held) {
    case RegisterClass::b1:
      return builder.getInt1Ty();
    case RegisterClass::b8:
      return builder.getInt8Ty();
    case RegisterClass::b16:
      return builder.getInt16Ty();
    case RegisterClass::b32:
      return builder.getInt32Ty();
    case RegisterClass::b64:
      return builder.getInt64Ty();
    case RegisterClass::f16:
      return builder.getHalfTy();
    case RegisterClass::f32:
      return builder.getFloatTy();
    case RegisterClass::f64:
      return builder.getDoubleTy();
  }
  return nullptr;
}

llvm::Type* type_like(llvm::Value* shape, llvm::Type* scalar) {
  if (auto const* vector = llvm::dyn_cast<llvm::FixedVectorType>(shape->getType()))
    return llvm::FixedVectorType::get(scalar, vector->getNumElements());
  return scalar;
}

llvm::Value* ArithLowering::add(Element element, llvm::Value* a, llvm::Value* b) {
  return is_float(element) ? builder_.CreateFAdd(a, b) : builder_.CreateAdd(a, b);
}

llvm::Value* ArithLowering::max(Element element, llvm::Value* a, llvm::Value* b) {
  if (element == Element::boolean) return builder_.CreateOr(a, b);
  if (is_float(element)) return extreme(true, a, b);
  return builder_.CreateBinaryIntrinsic(is_signed(element) ? llvm::Intrinsic::smax : llvm::Intrinsic::umax, a, b);
}

llvm::Value* ArithLowering::min(Element element, llvm::Value* a, llvm::Value* b) {
  if (element == Element::boolean) return builder_.CreateAnd(a, b);
  if (is_float(element)) return extreme(false, a, b);
  return builder_.CreateBinaryIntrinsic(is_signed(element) ? llvm::Intrinsic::smin : llvm::Intrinsic::umin, a, b);
}

llvm::Value* ArithLowering::combine(ir::Combine operation, Element element, llvm::Value* a, llvm::Value* b) {
  switch (operation) {
    case ir::Combine::sum:
      return add(element, a, b);
    case ir::Combine::max:
      return max(element, a, b);
    case ir::Combine::min:
      return min(element, a, b);
    case ir::Combine::product:
      return is_float(element) ? builder_.CreateFMul(a, b) : builder_.CreateMul(a, b);
  }
  return nullptr;
}

llvm::Value* ArithLowering::cast(Element from, Element to, llvm::Value* value) {
  if (from == to) return value;
  if (is_float(from)) return is_float(to) ? float_from_float(from, to, value) : integer_from_float(from, to, value);
  if (is_float(to))
    return from == Element::boolean ? float_from_boolean(to, value) : float_from_integer(from, to, value);
  llvm::Type* const target = type_like(value, register_type(to));
  if (from == Element::boolean) return builder_.CreateZExt(value, target);
  auto const width = static_cast<unsigned>(bits(to));
  if (width < target->getScalarSizeInBits()) {  // the register holds the value
    llvm::Value* const kept = builder_.CreateTrunc(value, type_like(value, builder_.getIntNTy(width)));
    return is_signed(to) ? builder_.CreateSExt(kept, target) : builder_.CreateZExt(kept, target);
  }
  return is_signed(from) ? builder_.CreateSExtOrTrunc(value, target) : builder_.CreateZExtOrTrunc(value, target);
}

llvm::Value* ArithLowering::compare(Predicate predicate, Element element, llvm::Value* a, llvm::Value* b) {
  using P = llvm::CmpInst::Predicate;
  static constexpr P on_floats[] = {P::FCMP_OEQ, P::FCMP_UNE, P::FCMP_OLT, P::FCMP_OLE, P::FCMP_OGT, P::FCMP_OGE};
  static constexpr P on_signed[] = {P::ICMP_EQ, P::ICMP_NE, P::ICMP_SLT, P::ICMP_SLE, P::ICMP_SGT, P::ICMP_SGE};
  static constexpr P on_unsigned[] = {P::ICMP_EQ, P::ICMP_NE, P::ICMP_ULT, P::ICMP_ULE, P::ICMP_UGT, P::ICMP_UGE};
  auto const index = static_cast<std::size_t>(predicate);
  if (is_float(element)) return builder_.CreateFCmp(on_floats[index], a, b);
  return builder_.CreateICmp(is_signed(element) ? on_signed[index] : on_unsigned[index], a, b);
}

llvm::Value* ArithLowering::quotient(Element element, llvm::Value* a, llvm::Value* b) {
  SafeDivisor const by = safe_divisor(builder_, element, a, b);
  llvm::Value* const result = is_signed(element) ? builder_.CreateSDiv(a, by.value) : builder_.CreateUDiv(a, by.value);
  return builder_.CreateSelect(by.is_zero, zero_like(a), result);
}

llvm::Value* ArithLowering::remainder(Element element, llvm::Value* a, llvm::Value* b) {
  SafeDivisor const by = safe_divisor(builder_, element, a, b);
  llvm::Value* const result = is_signed(element) ? builder_.CreateSRem(a, by.value) : builder_.CreateURem(a, by.value);
  return builder_.CreateSelect(by.is_zero, a, result);
}

llvm::Value* ArithLowering::shift_out(bool left, llvm::Value* a, llvm::Value* amount) {
  llvm::Value* const width = integer_like(amount, amount->getType()->getScalarSizeInBits());
  llvm::Value* const legal = builder_.CreateICmpULT(amount, width);
  llvm::Value* const safe = builder_.CreateSelect(legal, amount, zero_like(amount));
  llvm::Value* const shifted = left ? builder_.CreateShl(a, safe) : builder_.CreateLShr(a, safe);
  return builder_.CreateSelect(legal, shifted, zero_like(a));
}

namespace {

/// Holds an elementwise op that is being lowered: its element, and its operands in registers.
struct Operation {
  ArithLowering& arith;
  ir::Op const& op;
  std::span<llvm::Value* const> operands;
  llvm::IRBuilderBase& builder = arith.builder();
  Element element = op.operands().front()->type().element();
  bool floats = is_float(element);
  llvm::Value* a = operands[0];
  llvm::Value* b = operands.size() > 1 ? operands[1] : nullptr;

  /// Computes on two floats, rounded once. For + - * / of 16 bits the result is correctly rounded, because f32 has more
  /// than twice their precision.
  template <class Compute>
  [[nodiscard]] llvm::Value* rounded(Compute const& compute) const {
    llvm::Value* const right = arith.widen(element, b);
    llvm::Value* const left = arith.widen(element, a);
    return arith.narrow(element, compute(left, right));
  }
  /// Computes a number of the element's from two floats.
  template <class Compute>
  [[nodiscard]] llvm::Value* exact(Compute const& compute) const {
    llvm::Value* const right = arith.widen(element, b);
    llvm::Value* const left = arith.widen(element, a);
    return arith.narrow_exact(element, compute(left, right));
  }
};

llvm::Value* lower(ir::AddOp const&, Operation const& of) {
  if (!of.floats) return of.builder.CreateAdd(of.a, of.b);
  return of.rounded([&](auto* a, auto* b) { return of.builder.CreateFAdd(a, b); });
}
llvm::Value* lower(ir::SubOp const&, Operation const& of) {
  if (!of.floats) return of.builder.CreateSub(of.a, of.b);
  return of.rounded([&](auto* a, auto* b) { return of.builder.CreateFSub(a, b); });
}
llvm::Value* lower(ir::MulOp const& product, Operation const& of) {
  if (!of.floats) return of.builder.CreateMul(of.a, of.b);
  llvm::IRBuilder<>::FastMathFlagGuard const guard(of.builder);
  llvm::FastMathFlags flags = of.builder.getFastMathFlags();
  if (product.licence == ir::Licence::contraction) flags.setAllowContract(true);
  of.builder.setFastMathFlags(flags);
  return of.rounded([&](auto* a, auto* b) { return of.builder.CreateFMul(a, b); });
}
llvm::Value* lower(ir::MultiplyHighOp const&, Operation const& of) {
  llvm::Type* const type = of.a->getType();
  llvm::Type* const wide = type->getExtendedType();
  auto const widened = [&](llvm::Value* value) {
    return is_signed(of.element) ? of.builder.CreateSExt(value, wide) : of.builder.CreateZExt(value, wide);
  };
  llvm::Value *const right = widened(of.b), *const left = widened(of.a);
  llvm::Value* const product = of.builder.CreateMul(left, right);
  return of.builder.CreateTrunc(of.builder.CreateLShr(product, type->getScalarSizeInBits()), type);
}
llvm::Value* lower(ir::DivOp const& division, Operation const& of) {
  if (of.floats) return of.rounded([&](auto* a, auto* b) { return of.arith.divide_floats(division, a, b); });
  if (of.op.result()->type() == ir::Type::index()) return of.arith.divide_index(of.a, of.b);
  return of.arith.quotient(of.element, of.a, of.b);
}
llvm::Value* lower(ir::RemOp const&, Operation const& of) { return of.arith.remainder(of.element, of.a, of.b); }
llvm::Value* lower(ir::CeilDivOp const&, Operation const& of) {
  llvm::IRBuilderBase& b = of.builder;
  bool const has_sign = is_signed(of.element);
  auto const above_zero = [&](llvm::Value* value) {
    return has_sign ? b.CreateICmpSGT(value, zero_like(value)) : b.CreateICmpNE(value, zero_like(value));
  };
  llvm::Value* const positive = above_zero(of.b);
  llvm::Value* const by = b.CreateSelect(positive, of.b, integer_like(of.b, 1));
  llvm::Value* const quotient = has_sign ? b.CreateSDiv(of.a, by) : b.CreateUDiv(of.a, by);
  llvm::Value* const more = b.CreateZExt(above_zero(b.CreateSub(of.a, b.CreateMul(quotient, by))), of.a->getType());
  return b.CreateSelect(positive, b.CreateAdd(quotient, more), zero_like(of.a));
}
llvm::Value* lower(ir::MinOp const&, Operation const& of) {
  return of.exact([&](auto* a, auto* b) { return of.arith.min(of.element, a, b); });
}
llvm::Value* lower(ir::MaxOp const&, Operation const& of) {
  return of.exact([&](auto* a, auto* b) { return of.arith.max(of.element, a, b); });
}
llvm::Value* lower(ir::AndOp const&, Operation const& of) { return of.builder.CreateAnd(of.a, of.b); }
llvm::Value* lower(ir::OrOp const&, Operation const& of) { return of.builder.CreateOr(of.a, of.b); }
llvm::Value* lower(ir::XorOp const&, Operation const& of) { return of.builder.CreateXor(of.a, of.b); }
llvm::Value* lower(ir::ShlOp const&, Operation const& of) { return of.arith.shift_out(true, of.a, of.b); }
llvm::Value* lower(ir::ShrOp const&, Operation const& of) {
  if (!is_signed(of.element)) return of.arith.shift_out(false, of.a, of.b);
  llvm::Value* const max = integer_like(of.b, of.b->getType()->getScalarSizeInBits() - 1);
  return of.builder.CreateAShr(of.a, of.builder.CreateSelect(of.builder.CreateICmpULT(of.b, max), of.b, max));
}
llvm::Value* lower(ir::CompareOp const& compare, Operation const& of) {
  llvm::Value* const right = of.arith.widen(of.element, of.b);
  llvm::Value* const left = of.arith.widen(of.element, of.a);
  return of.arith.compare(compare.predicate, of.element, left, right);
}
llvm::Value* lower(ir::SelectOp const&, Operation const& of) {
  return of.builder.CreateSelect(of.a, of.b, of.operands[2]);
}
llvm::Value* lower(ir::RandomBitsOp const&, Operation const& of) {
  llvm::IRBuilderBase& b = of.builder;
  RandomWords const words = random_words(b, of.a, b.CreateAShr(of.b, integer_like(of.b, 2)));
  auto const bit = [&](unsigned number) {
    llvm::Value* const place = b.CreateAnd(of.b, integer_like(of.b, number));
    return b.CreateICmpNE(place, zero_like(place));
  };
  llvm::Value* const upper = bit(2);
  llvm::Value *const even = b.CreateSelect(upper, words[2], words[0]), *const odd =
                                                                           b.CreateSelect(upper, words[3], words[1]);
  return of.op.result()->type().element() == Element::i32 ? b.CreateSelect(bit(1), odd, even)
                                                          : join_words(b, even, odd);
}
llvm::Value* lower(ir::FmaOp const&, Operation const& of) {
  llvm::Value* const sum = of.arith.fma(of.element, of.a, of.b, of.operands[2]);
  if (sum == nullptr)
    throw UserError("fma of f64 needs a CPU with FMA instructions; multiply and add instead", of.op.where());
  return sum;
}
llvm::Value* lower(ir::CastOp const&, Operation const& of) {
  return of.arith.cast(of.element, of.op.result()->type().element(), of.a);
}
llvm::Value* lower(ir::BitcastOp const&, Operation const& of) {
  return of.arith.same_bits(of.element, of.op.result()->type().element(), of.a);
}
llvm::Value* lower(ir::NegOp const&, Operation const& of) {
  if (!of.floats) return of.builder.CreateNeg(of.a);
  return of.arith.narrow_exact(of.element, of.builder.CreateFNeg(of.arith.widen(of.element, of.a)));
}
llvm::Value* lower(ir::NotOp const&, Operation const& of) { return of.builder.CreateNot(of.a); }
llvm::Value* lower(ir::AbsOp const&, Operation const& of) {
  if (of.floats)
    return of.arith.narrow_exact(
        of.element, of.builder.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, of.arith.widen(of.element, of.a)));
  if (!is_signed(of.element)) return of.a;
  return of.builder.CreateBinaryIntrinsic(llvm::Intrinsic::abs, of.a, of.builder.getFalse());
}

template <class OpStruct>
llvm::Value* exact_function(OpStruct const&, Operation const& of, llvm::Intrinsic::ID intrinsic, llvm::Value* wide) {
  return of.builder.CreateUnaryIntrinsic(intrinsic, wide);
}
llvm::Value* exact_function(ir::SqrtOp const& root, Operation const& of, llvm::Intrinsic::ID, llvm::Value* wide) {
  return of.arith.square_root(root, wide);
}
#define TEGULA_EXACT(struct_name, name, intrinsic, ...)                                                 \
  llvm::Value* lower(ir::struct_name const& function, Operation const& of) {                            \
    llvm::Value* const wide = of.arith.widen(of.element, of.a);                                         \
    return of.arith.narrow(of.element, exact_function(function, of, llvm::Intrinsic::intrinsic, wide)); \
  }
#include "tegula/math/elementary.def"

template <class OpStruct>
constexpr bool runs = ir::ElementwiseOp<OpStruct> && (OpStruct::support & ir::on_host) != 0;
template <class OpStruct>
concept HasLowering = requires(OpStruct const& op, Operation const& of) {
  lower(op, of);
};
#define TEGULA_OP(name)                                   \
  static_assert(!runs<ir::name> || HasLowering<ir::name>, \
                #name " must have a lowering: add an overload of lower to codegen/lowering.cpp");
#include "tegula/ir/ops.def"
#undef TEGULA_OP

}  // namespace

llvm::Value* ArithLowering::lower(ir::Op const& op, std::span<llvm::Value* const> operands) {
  return ir::visit_op(op.kind(), [&](auto type) -> llvm::Value* {
    using OpStruct = typename decltype(type)::type;
    if constexpr (!runs<OpStruct>)
      return lower_own(op, operands.front());
    else if constexpr (std::is_empty_v<OpStruct>)  // nothing to look up for each register
      return codegen::lower(OpStruct{}, Operation{*this, op, operands});
    else
      return codegen::lower(op.as<OpStruct>(), Operation{*this, op, operands});
  });
}

}  // namespace tegula::codegen

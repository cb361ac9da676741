#include "codegen/lowering.hpp"

#include <bit>
#include <string>

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Intrinsics.h>

#include "ir/builder.hpp"
#include "ir/visit_op.hpp"
#include "tegula/support/error.hpp"

namespace tegula::codegen {

using ir::Predicate;

namespace {

constexpr std::uint64_t sign_bit = 0x80000000U;

/// Splats a floating constant of the value's type.
llvm::Value* float_like(llvm::Value* shape, double value) { return llvm::ConstantFP::get(shape->getType(), value); }

}  // namespace

llvm::Type* ArithLowering::type_like(llvm::Value* shape, llvm::Type* scalar) {
  if (auto const* vector = llvm::dyn_cast<llvm::FixedVectorType>(shape->getType()))
    return llvm::FixedVectorType::get(scalar, vector->getNumElements());
  return scalar;
}

llvm::Value* ArithLowering::like(llvm::Value* shape, llvm::Type* scalar, std::uint64_t bits) {
  llvm::APInt const value = llvm::APInt(64, bits).zextOrTrunc(scalar->getIntegerBitWidth());
  return llvm::ConstantInt::get(type_like(shape, scalar), value);
}

llvm::Type* ArithLowering::register_type(Element element) {
  switch (element) {
    case Element::boolean:
      return builder_.getInt1Ty();
    case Element::i8:
    case Element::u8:
    case Element::i16:
    case Element::u16:
    case Element::e4m3:
    case Element::e5m2:
    case Element::i32:
    case Element::u32:
      return builder_.getInt32Ty();
    case Element::i64:
    case Element::u64:
      return builder_.getInt64Ty();
    case Element::f16:
    case Element::bf16:
    case Element::f32:
      return builder_.getFloatTy();
    case Element::f64:
      return builder_.getDoubleTy();
  }
  return nullptr;
}

llvm::Type* ArithLowering::memory_type(Element element) {
  switch (element) {
    case Element::boolean:
    case Element::i8:
    case Element::u8:
    case Element::e4m3:
    case Element::e5m2:
      return builder_.getInt8Ty();
    case Element::i16:
    case Element::u16:
    case Element::f16:
    case Element::bf16:
      return builder_.getInt16Ty();
    case Element::i32:
    case Element::u32:
    case Element::i64:
    case Element::u64:
    case Element::f32:
    case Element::f64:
      return register_type(element);
  }
  return nullptr;
}

llvm::Value* ArithLowering::constant(ir::Constant value) {
  switch (value.element) {
    case Element::boolean:
      return builder_.getInt1(value.bits != 0);
    case Element::e4m3:
    case Element::e5m2:
      return builder_.getInt32(
          static_cast<std::uint32_t>(static_cast<std::int32_t>(static_cast<std::int8_t>(value.bits))));
    case Element::i8:
    case Element::u8:
    case Element::i16:
    case Element::u16:
    case Element::i32:
    case Element::u32:
      return builder_.getInt32(static_cast<std::uint32_t>(value.bits));
    case Element::i64:
    case Element::u64:
      return builder_.getInt64(value.bits);
    case Element::f64:
      return llvm::ConstantFP::get(builder_.getContext(), llvm::APFloat(std::bit_cast<double>(value.bits)));
    case Element::f16:
    case Element::bf16:
    case Element::f32: {
      float const number = value.element == Element::f32 ? std::bit_cast<float>(static_cast<std::uint32_t>(value.bits))
                                                         : static_cast<float>(ir::to_double(value));
      return llvm::ConstantFP::get(builder_.getContext(), llvm::APFloat(number));
    }
  }
  return nullptr;
}

// --- 16-bit floats -------------------------------------------------------------------------------------------

llvm::Value* ArithLowering::round_to(Element element, llvm::Value* value) {
  if (element != Element::f16 && element != Element::bf16) return value;
  llvm::Type* const i32 = builder_.getInt32Ty();
  llvm::Type* const floats = value->getType();
  if (element == Element::f16 && traits_.native_f16)
    return builder_.CreateFPExt(builder_.CreateFPTrunc(value, type_like(value, builder_.getHalfTy())), floats);
  if (element == Element::bf16 && traits_.native_bf16)
    return builder_.CreateFPExt(builder_.CreateFPTrunc(value, type_like(value, builder_.getBFloatTy())), floats);

  unsigned const dropped = element == Element::bf16 ? 16 : 13;
  llvm::Value* const bits = builder_.CreateBitCast(value, type_like(value, i32));
  llvm::Value* const odd = builder_.CreateAnd(builder_.CreateLShr(bits, dropped), like(value, i32, 1));
  llvm::Value* const bias = builder_.CreateAdd(odd, like(value, i32, (1U << (dropped - 1)) - 1));
  llvm::Value* const kept =
      builder_.CreateAnd(builder_.CreateAdd(bits, bias), like(value, i32, ~((1U << dropped) - 1)));
  llvm::Value* rounded = builder_.CreateBitCast(kept, floats);
  llvm::Value* const sign = builder_.CreateAnd(bits, like(value, i32, sign_bit));
  auto const with_sign = [&](llvm::Value* magnitude_bits) {
    return builder_.CreateBitCast(builder_.CreateOr(magnitude_bits, sign), floats);
  };
  if (element == Element::f16) {
    llvm::Value* const magnitude = builder_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, value);
    // Below the smallest normal number the spacing is 2^-24: that of floats in [0.5, 1).
    llvm::Value* const half = float_like(value, 0.5);
    llvm::Value* const small = builder_.CreateFSub(builder_.CreateFAdd(magnitude, half), half);
    llvm::Value* const small_bits = builder_.CreateBitCast(small, type_like(value, i32));
    rounded = builder_.CreateSelect(builder_.CreateFCmpOLT(magnitude, float_like(value, 0x1p-14)),
                                    with_sign(small_bits), rounded);
    llvm::Value* const overflow = builder_.CreateFCmpOGE(magnitude, float_like(value, 65520.0));
    rounded = builder_.CreateSelect(overflow, with_sign(like(value, i32, 0x7F800000U)), rounded);
  }
  return builder_.CreateSelect(builder_.CreateFCmpUNO(value, value), with_sign(like(value, i32, 0x7FC00000U)), rounded);
}

llvm::Value* ArithLowering::f16_bits(llvm::Value* value) {
  llvm::Type* const i32 = builder_.getInt32Ty();
  llvm::Value* const bits = builder_.CreateBitCast(value, type_like(value, i32));
  llvm::Value* const sign = builder_.CreateAnd(builder_.CreateLShr(bits, 16), like(value, i32, 0x8000));
  llvm::Value* const magnitude = builder_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, value);
  // The value is exact in f16, so scaling the exponents onto each other and shifting is exact, subnormals too.
  llvm::Value* const scaled = builder_.CreateFMul(magnitude, float_like(value, 0x1p-112));
  llvm::Value* const shifted = builder_.CreateLShr(builder_.CreateBitCast(scaled, type_like(value, i32)), 13);
  llvm::Value* const infinite = builder_.CreateFCmpOEQ(magnitude, llvm::ConstantFP::getInfinity(value->getType()));
  llvm::Value* result = builder_.CreateSelect(infinite, like(value, i32, 0x7C00), shifted);
  result = builder_.CreateSelect(builder_.CreateFCmpUNO(value, value), like(value, i32, 0x7E00), result);
  return builder_.CreateTrunc(builder_.CreateOr(result, sign), type_like(value, builder_.getInt16Ty()));
}

llvm::Value* ArithLowering::f16_value(llvm::Value* half) {
  llvm::Type* const i32 = builder_.getInt32Ty();
  llvm::Type* const floats = type_like(half, builder_.getFloatTy());
  llvm::Value* const bits = builder_.CreateZExt(half, type_like(half, i32));
  llvm::Value* const sign = builder_.CreateShl(builder_.CreateAnd(bits, like(half, i32, 0x8000)), 16);
  llvm::Value* const shifted = builder_.CreateShl(builder_.CreateAnd(bits, like(half, i32, 0x7FFF)), 13);
  llvm::Value* const scaled =
      builder_.CreateFMul(builder_.CreateBitCast(shifted, floats), llvm::ConstantFP::get(floats, 0x1p112));
  llvm::Value* const special = builder_.CreateICmpUGE(shifted, like(half, i32, 0x7C00U << 13));
  llvm::Value* const whole = builder_.CreateSelect(special, builder_.CreateOr(shifted, like(half, i32, 0x7F800000U)),
                                                   builder_.CreateBitCast(scaled, bits->getType()));
  return builder_.CreateBitCast(builder_.CreateOr(whole, sign), floats);
}

llvm::Value* ArithLowering::from_memory(Element element, llvm::Value* bits) {
  switch (element) {
    case Element::boolean:
      return builder_.CreateICmpNE(bits, llvm::Constant::getNullValue(bits->getType()));
    case Element::i8:
    case Element::i16:
    case Element::e4m3:
    case Element::e5m2:
      return builder_.CreateSExt(bits, type_like(bits, builder_.getInt32Ty()));
    case Element::u8:
    case Element::u16:
      return builder_.CreateZExt(bits, type_like(bits, builder_.getInt32Ty()));
    case Element::bf16: {
      llvm::Value* const wide = builder_.CreateZExt(bits, type_like(bits, builder_.getInt32Ty()));
      return builder_.CreateBitCast(builder_.CreateShl(wide, 16), type_like(bits, builder_.getFloatTy()));
    }
    case Element::f16:
      if (!traits_.native_f16) return f16_value(bits);
      return builder_.CreateFPExt(builder_.CreateBitCast(bits, type_like(bits, builder_.getHalfTy())),
                                  type_like(bits, builder_.getFloatTy()));
    case Element::i32:
    case Element::u32:
    case Element::i64:
    case Element::u64:
    case Element::f32:
    case Element::f64:
      return bits;
  }
  return bits;
}

llvm::Value* ArithLowering::to_memory(Element element, llvm::Value* value) {
  switch (element) {
    case Element::boolean:
      return builder_.CreateZExt(value, type_like(value, builder_.getInt8Ty()));
    case Element::i8:
    case Element::u8:
    case Element::i16:
    case Element::u16:
    case Element::e4m3:
    case Element::e5m2:
      return builder_.CreateTrunc(value, type_like(value, memory_type(element)));
    case Element::bf16: {
      llvm::Value* const bits = builder_.CreateBitCast(value, type_like(value, builder_.getInt32Ty()));
      return builder_.CreateTrunc(builder_.CreateLShr(bits, 16), type_like(value, builder_.getInt16Ty()));
    }
    case Element::f16:
      if (!traits_.native_f16) return f16_bits(value);
      return builder_.CreateBitCast(builder_.CreateFPTrunc(value, type_like(value, builder_.getHalfTy())),
                                    type_like(value, builder_.getInt16Ty()));
    case Element::i32:
    case Element::u32:
    case Element::i64:
    case Element::u64:
    case Element::f32:
    case Element::f64:
      return value;
  }
  return value;
}

/// Rounds f64 to f32 toward the neighbour with an odd last bit, so that a second rounding to 11 or 8 bits rounds once.
llvm::Value* ArithLowering::narrow_to_odd(llvm::Value* wide) {
  llvm::Type* const i32 = builder_.getInt32Ty();
  llvm::Value* const nearest = builder_.CreateFPTrunc(wide, type_like(wide, builder_.getFloatTy()));
  llvm::Value* const back = builder_.CreateFPExt(nearest, wide->getType());
  llvm::Value* const inexact = builder_.CreateFCmpONE(back, wide);
  llvm::Value* const beyond = builder_.CreateFCmpOGT(builder_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, back),
                                                     builder_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, wide));
  llvm::Type* const integers = type_like(wide, i32);
  llvm::Value* bits = builder_.CreateBitCast(nearest, integers);
  bits = builder_.CreateSub(bits, builder_.CreateZExt(beyond, integers));
  bits = builder_.CreateOr(bits, builder_.CreateZExt(inexact, integers));
  return builder_.CreateBitCast(bits, nearest->getType());
}

// --- conversions ---------------------------------------------------------------------------------------------

llvm::Value* ArithLowering::cast(Element from, Element to, llvm::Value* value) {
  if (from == to) return value;
  bool const half = to == Element::f16 || to == Element::bf16;
  llvm::Type* const target = type_like(value, register_type(to));
  if (from == Element::boolean)
    return is_float(to) ? builder_.CreateUIToFP(value, target) : builder_.CreateZExt(value, target);
  if (is_integer(from)) {
    if (is_narrow_integer(to)) return from_memory(to, builder_.CreateTrunc(value, type_like(value, memory_type(to))));
    bool const has_sign = is_signed(from);
    if (is_integer(to))
      return has_sign ? builder_.CreateSExtOrTrunc(value, target) : builder_.CreateZExtOrTrunc(value, target);
    if (!half) return has_sign ? builder_.CreateSIToFP(value, target) : builder_.CreateUIToFP(value, target);
    llvm::Type* const doubles = type_like(value, builder_.getDoubleTy());
    if (from == Element::u64) {  // half of a large one, with its last bit kept in sight
      llvm::Value* const top = builder_.CreateLShr(value, 63);
      llvm::Value* const halved = builder_.CreateOr(builder_.CreateLShr(value, top), builder_.CreateAnd(value, top));
      llvm::Value* const small = cast(Element::i64, to, halved);
      return builder_.CreateSelect(builder_.CreateICmpNE(top, like(value, builder_.getInt64Ty(), 0)),
                                   builder_.CreateFAdd(small, small), small);
    }
    if (from == Element::i64) {
      // Folds the low bits beyond 2^53 into a sticky bit, so that the conversion to f64 is exact and rounding happens
      // once.
      llvm::Type* const i64 = builder_.getInt64Ty();
      llvm::Value* const low = builder_.CreateAnd(value, like(value, i64, 0x7FF));
      llvm::Value* const sticky = builder_.CreateSelect(builder_.CreateICmpNE(low, like(value, i64, 0)),
                                                        like(value, i64, 0x800), like(value, i64, 0));
      llvm::Value* const folded =
          builder_.CreateOr(builder_.CreateAnd(value, like(value, i64, ~std::uint64_t{0x7FF})), sticky);
      llvm::Value* const magnitude = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::abs, value, builder_.getFalse());
      value = builder_.CreateSelect(builder_.CreateICmpUGT(magnitude, like(value, i64, std::uint64_t{1} << 53)), folded,
                                    value);
    }
    return round_to(
        to, narrow_to_odd(has_sign ? builder_.CreateSIToFP(value, doubles) : builder_.CreateUIToFP(value, doubles)));
  }
  auto const rounding = is_signed(to) ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat;
  if (is_narrow_integer(to)) {
    llvm::Type* const narrow = type_like(value, memory_type(to));
    return from_memory(to, builder_.CreateIntrinsic(rounding, {narrow, value->getType()}, {value}));
  }
  if (is_integer(to)) return builder_.CreateIntrinsic(rounding, {target, value->getType()}, {value});
  if (to == Element::f64) return builder_.CreateFPExt(value, target);
  if (from != Element::f64) return round_to(to, value);
  return half ? round_to(to, narrow_to_odd(value)) : builder_.CreateFPTrunc(value, target);
}

// --- arithmetic ----------------------------------------------------------------------------------------------

llvm::Value* ArithLowering::add(Element element, llvm::Value* a, llvm::Value* b) {
  return is_float(element) ? builder_.CreateFAdd(a, b) : builder_.CreateAdd(a, b);
}

/// Returns one of two floats, the other one when one is NaN. Written with selects: LLVM turns minnum and maxnum into
/// calls of libm where it does not find the instructions any more.
llvm::Value* ArithLowering::extreme(bool greater, llvm::Value* a, llvm::Value* b) {
  llvm::Value* const first = greater ? builder_.CreateFCmpOGT(a, b) : builder_.CreateFCmpOLT(a, b);
  llvm::Value* const chosen = builder_.CreateSelect(first, a, b);
  return builder_.CreateSelect(builder_.CreateFCmpUNO(b, b), a, chosen);
}

llvm::Value* ArithLowering::max(Element element, llvm::Value* a, llvm::Value* b) {
  if (element == Element::boolean) return builder_.CreateOr(a, b);
  return is_float(element)
             ? extreme(true, a, b)
             : builder_.CreateBinaryIntrinsic(is_signed(element) ? llvm::Intrinsic::smax : llvm::Intrinsic::umax, a, b);
}

llvm::Value* ArithLowering::min(Element element, llvm::Value* a, llvm::Value* b) {
  if (element == Element::boolean) return builder_.CreateAnd(a, b);
  return is_float(element)
             ? extreme(false, a, b)
             : builder_.CreateBinaryIntrinsic(is_signed(element) ? llvm::Intrinsic::smin : llvm::Intrinsic::umin, a, b);
}

llvm::Value* ArithLowering::fma(Element element, llvm::Value* a, llvm::Value* b, llvm::Value* c) {
  if (traits_.native_fma) return builder_.CreateIntrinsic(llvm::Intrinsic::fma, {a->getType()}, {a, b, c});
  return element == Element::f32 ? fma_through_f64(a, b, c) : nullptr;
}

/// Adds a product of f32 without rounding it. An f64 holds the product, and of the sum the last bit is set where digits
/// are lost: so the sum rounds to f32 as the exact one.
llvm::Value* ArithLowering::fma_through_f64(llvm::Value* a, llvm::Value* b, llvm::Value* c) {
  llvm::Type* const wide = type_like(a, builder_.getDoubleTy());
  llvm::Type* const words = type_like(a, builder_.getInt64Ty());
  auto const widened = [&](llvm::Value* value) { return builder_.CreateFPExt(value, wide); };
  auto const word = [&](std::uint64_t bits) { return llvm::ConstantInt::get(words, bits); };
  llvm::Value *const product = builder_.CreateFMul(widened(a), widened(b)), *const addend = widened(c);
  llvm::Value* const sum = builder_.CreateFAdd(product, addend);
  llvm::Value* const part = builder_.CreateFSub(sum, product);
  llvm::Value* const lost = builder_.CreateFAdd(builder_.CreateFSub(product, builder_.CreateFSub(sum, part)),
                                                builder_.CreateFSub(addend, part));
  // Of a sum that is inexact and even, the exact one lies between it and a neighbour, which is odd.
  llvm::Value* const bits = builder_.CreateBitCast(sum, words);
  llvm::Value* const is_even = builder_.CreateICmpEQ(builder_.CreateAnd(bits, word(1)), word(0));
  llvm::Value* const inexact = builder_.CreateFCmpONE(lost, llvm::ConstantFP::get(wide, 0.0));
  llvm::Value* const outwards = builder_.CreateICmpSGE(builder_.CreateXor(bits, builder_.CreateBitCast(lost, words)),
                                                       word(0));  // signs are equal
  llvm::Value* const neighbour =
      builder_.CreateAdd(bits, builder_.CreateSelect(outwards, word(1), word(~std::uint64_t{0})));
  llvm::Value* const odd = builder_.CreateSelect(builder_.CreateAnd(is_even, inexact), neighbour, bits);
  return builder_.CreateFPTrunc(builder_.CreateBitCast(odd, wide), a->getType());
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

/// Returns integer quotient and remainder with x / 0 = 0, x % 0 = x, min / -1 = min, without undefined behaviour.
ArithLowering::Quotient ArithLowering::divide(Element element, llvm::Value* a, llvm::Value* b) {
  llvm::Type* const scalar = register_type(element);
  unsigned const width = scalar->getIntegerBitWidth();
  llvm::Value* const zero = like(b, scalar, 0);
  llvm::Value* const by_zero = builder_.CreateICmpEQ(b, zero);
  if (!is_signed(element)) {
    llvm::Value* const divisor = builder_.CreateSelect(by_zero, like(b, scalar, 1), b);
    llvm::Value* const remainder = builder_.CreateSelect(by_zero, a, builder_.CreateURem(a, divisor));
    return {builder_.CreateSelect(by_zero, zero, builder_.CreateUDiv(a, divisor)), remainder};
  }
  llvm::Value* const wraps =
      builder_.CreateAnd(builder_.CreateICmpEQ(a, like(a, scalar, std::uint64_t{1} << (width - 1))),
                         builder_.CreateICmpEQ(b, like(b, scalar, ~std::uint64_t{0})));
  llvm::Value* const divisor = builder_.CreateSelect(builder_.CreateOr(by_zero, wraps), like(b, scalar, 1), b);
  llvm::Value* const quotient = builder_.CreateSDiv(a, divisor);
  llvm::Value* const remainder =
      builder_.CreateSelect(by_zero, a, builder_.CreateSub(a, builder_.CreateMul(quotient, divisor)));
  return {builder_.CreateSelect(by_zero, zero, quotient), remainder};
}

llvm::Value* ArithLowering::shift_left(llvm::Value* a, llvm::Value* b) {
  llvm::Type* const scalar = a->getType()->getScalarType();
  llvm::Value* const inside = builder_.CreateICmpULT(b, like(b, scalar, scalar->getIntegerBitWidth()));
  llvm::Value* const amount = builder_.CreateSelect(inside, b, like(b, scalar, 0));
  return builder_.CreateSelect(inside, builder_.CreateShl(a, amount), like(a, scalar, 0));
}

llvm::Value* ArithLowering::shift_right(Element element, llvm::Value* a, llvm::Value* b) {
  llvm::Type* const scalar = a->getType()->getScalarType();
  unsigned const width = scalar->getIntegerBitWidth();
  llvm::Value* const inside = builder_.CreateICmpULT(b, like(b, scalar, width));
  if (!is_signed(element)) {
    llvm::Value* const amount = builder_.CreateSelect(inside, b, like(b, scalar, 0));
    return builder_.CreateSelect(inside, builder_.CreateLShr(a, amount), like(a, scalar, 0));
  }
  return builder_.CreateAShr(a, builder_.CreateSelect(inside, b, like(b, scalar, width - 1)));
}

llvm::Value* ArithLowering::same_bits(Element from, Element to, llvm::Value* value) {
  if (bits(to) < 32) return from_memory(to, to_memory(from, value));  // registers hold them extended
  return builder_.CreateBitCast(value, type_like(value, register_type(to)));
}

llvm::Value* ArithLowering::compare(Predicate predicate, Element element, llvm::Value* a, llvm::Value* b) {
  if (is_float(element)) {
    switch (predicate) {
      case Predicate::eq:
        return builder_.CreateFCmpOEQ(a, b);
      case Predicate::ne:
        return builder_.CreateFCmpUNE(a, b);
      case Predicate::lt:
        return builder_.CreateFCmpOLT(a, b);
      case Predicate::le:
        return builder_.CreateFCmpOLE(a, b);
      case Predicate::gt:
        return builder_.CreateFCmpOGT(a, b);
      case Predicate::ge:
        return builder_.CreateFCmpOGE(a, b);
    }
  }
  bool const is_signed = tegula::is_signed(element);
  switch (predicate) {
    case Predicate::eq:
      return builder_.CreateICmpEQ(a, b);
    case Predicate::ne:
      return builder_.CreateICmpNE(a, b);
    case Predicate::lt:
      return is_signed ? builder_.CreateICmpSLT(a, b) : builder_.CreateICmpULT(a, b);
    case Predicate::le:
      return is_signed ? builder_.CreateICmpSLE(a, b) : builder_.CreateICmpULE(a, b);
    case Predicate::gt:
      return is_signed ? builder_.CreateICmpSGT(a, b) : builder_.CreateICmpUGT(a, b);
    case Predicate::ge:
      return is_signed ? builder_.CreateICmpSGE(a, b) : builder_.CreateICmpUGE(a, b);
  }
  return nullptr;
}

namespace {

/// Holds an elementwise op that is being lowered: its element, and its operands in registers.
struct Operation {
  ArithLowering& arith;
  llvm::IRBuilderBase& builder;
  ir::Op const& op;
  std::span<llvm::Value* const> operands;
  Element element = op.operands().front()->type().element();
  bool floats = is_float(element);
  llvm::Value* a = operands[0];
  llvm::Value* b = operands.size() > 1 ? operands[1] : nullptr;

  [[nodiscard]] llvm::Value* rounded(llvm::Value* value) const { return arith.round_to(element, value); }
};

llvm::Value* lower(ir::AddOp const&, Operation const& of) { return of.rounded(of.arith.add(of.element, of.a, of.b)); }
llvm::Value* lower(ir::SubOp const&, Operation const& of) {
  return of.floats ? of.rounded(of.builder.CreateFSub(of.a, of.b)) : of.builder.CreateSub(of.a, of.b);
}
llvm::Value* lower(ir::MulOp const&, Operation const& of) {
  return of.floats ? of.rounded(of.builder.CreateFMul(of.a, of.b)) : of.builder.CreateMul(of.a, of.b);
}
llvm::Value* lower(ir::MultiplyHighOp const&, Operation const& of) {
  llvm::Type* const type = of.a->getType();
  llvm::Type* const wide = type->getExtendedType();
  auto const widened = [&](llvm::Value* value) {
    return is_signed(of.element) ? of.builder.CreateSExt(value, wide) : of.builder.CreateZExt(value, wide);
  };
  llvm::Value* const product = of.builder.CreateMul(widened(of.a), widened(of.b));
  return of.builder.CreateTrunc(of.builder.CreateLShr(product, type->getScalarSizeInBits()), type);
}
llvm::Value* lower(ir::DivOp const&, Operation const& of) {
  return of.floats ? of.rounded(of.builder.CreateFDiv(of.a, of.b)) : of.arith.divide(of.element, of.a, of.b).quotient;
}
llvm::Value* lower(ir::RemOp const&, Operation const& of) { return of.arith.divide(of.element, of.a, of.b).remainder; }
llvm::Value* lower(ir::CeilDivOp const&, Operation const& of) {
  auto const [quotient, remainder] = of.arith.divide(of.element, of.a, of.b);
  llvm::Value* const zero = llvm::Constant::getNullValue(of.a->getType());
  llvm::Value* const more = of.arith.compare(Predicate::gt, of.element, remainder, zero);
  llvm::Value* const up = of.builder.CreateZExt(more, of.a->getType());
  llvm::Value* const valid = of.arith.compare(Predicate::gt, of.element, of.b, zero);
  return of.builder.CreateSelect(valid, of.builder.CreateAdd(quotient, up), zero);
}
llvm::Value* lower(ir::MinOp const&, Operation const& of) { return of.arith.min(of.element, of.a, of.b); }
llvm::Value* lower(ir::MaxOp const&, Operation const& of) { return of.arith.max(of.element, of.a, of.b); }
llvm::Value* lower(ir::AndOp const&, Operation const& of) { return of.builder.CreateAnd(of.a, of.b); }
llvm::Value* lower(ir::OrOp const&, Operation const& of) { return of.builder.CreateOr(of.a, of.b); }
llvm::Value* lower(ir::XorOp const&, Operation const& of) { return of.builder.CreateXor(of.a, of.b); }
llvm::Value* lower(ir::ShlOp const&, Operation const& of) { return of.arith.shift_left(of.a, of.b); }
llvm::Value* lower(ir::ShrOp const&, Operation const& of) { return of.arith.shift_right(of.element, of.a, of.b); }
llvm::Value* lower(ir::CompareOp const& compare, Operation const& of) {
  return of.arith.compare(compare.predicate, of.element, of.a, of.b);
}
llvm::Value* lower(ir::SelectOp const&, Operation const& of) {
  return of.builder.CreateSelect(of.a, of.b, of.operands[2]);
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
  return of.floats ? of.builder.CreateFNeg(of.a) : of.builder.CreateNeg(of.a);
}
llvm::Value* lower(ir::NotOp const&, Operation const& of) { return of.builder.CreateNot(of.a); }
llvm::Value* lower(ir::AbsOp const&, Operation const& of) {
  if (of.floats) return of.builder.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, of.a);
  if (!is_signed(of.element)) return of.a;
  return of.builder.CreateBinaryIntrinsic(llvm::Intrinsic::abs, of.a, of.builder.getFalse());
}
#define TEGULA_EXACT(op, name, intrinsic, ...)                                            \
  llvm::Value* lower(ir::op const&, Operation const& of) {                                \
    return of.rounded(of.builder.CreateUnaryIntrinsic(llvm::Intrinsic::intrinsic, of.a)); \
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
                "hosts have no lowering of " #name ": add an overload of lower to codegen/lowering.cpp");
#include "tegula/ir/ops.def"
#undef TEGULA_OP

}  // namespace

llvm::Value* ArithLowering::lower(ir::Op const& op, std::span<llvm::Value* const> operands) {
  Operation const operation{*this, builder_, op, operands};
  return ir::visit_op(op.kind(), [&](auto type) -> llvm::Value* {
    using OpStruct = typename decltype(type)::type;
    if constexpr (runs<OpStruct>)
      return codegen::lower(op.as<OpStruct>(), operation);
    else
      throw UserError(why_not_run(op.info(), ir::on_host), op.where());
  });
}

}  // namespace tegula::codegen

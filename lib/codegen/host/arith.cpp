#include "codegen/host/arith.hpp"

#include <bit>

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Intrinsics.h>

#include "ir/core/builder.hpp"
#include "tegula/support/error.hpp"

namespace tegula::codegen::host {
namespace {

constexpr std::uint64_t sign_bit = 0x80000000U;

/// Splats a floating constant of the value's type.
llvm::Value* float_like(llvm::Value* shape, double value) { return llvm::ConstantFP::get(shape->getType(), value); }

}  // namespace

llvm::Value* HostArith::like(llvm::Value* shape, llvm::Type* scalar, std::uint64_t bits) {
  llvm::APInt const value = llvm::APInt(64, bits).zextOrTrunc(scalar->getIntegerBitWidth());
  return llvm::ConstantInt::get(type_like(shape, scalar), value);
}

llvm::Type* HostArith::memory_type(Element element) {
  return bits(element) < 32 ? builder_.getIntNTy(static_cast<unsigned>(bytes(element)) * 8) : register_type(element);
}

llvm::Value* HostArith::constant(ir::Constant value) {
  llvm::Type* const type = register_type(value.element);
  if (value.element == Element::f64)
    return llvm::ConstantFP::get(builder_.getContext(), llvm::APFloat(std::bit_cast<double>(value.bits)));
  if (value.element == Element::f32)
    return llvm::ConstantFP::get(builder_.getContext(),
                                 llvm::APFloat(std::bit_cast<float>(static_cast<std::uint32_t>(value.bits))));
  if (type->isFloatTy())
    return llvm::ConstantFP::get(builder_.getContext(), llvm::APFloat(static_cast<float>(ir::to_double(value))));
  if (is_f8(value.element))
    value.bits = static_cast<std::uint64_t>(wrapped(Element::i8, static_cast<std::int64_t>(value.bits)));
  return llvm::ConstantInt::get(type, llvm::APInt(64, value.bits).trunc(type->getIntegerBitWidth()));
}

llvm::Value* HostArith::round_to(Element element, llvm::Value* value) {
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

llvm::Value* HostArith::f16_bits(llvm::Value* value) {
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

llvm::Value* HostArith::f16_value(llvm::Value* half) {
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

llvm::Value* HostArith::from_memory(Element element, llvm::Value* bits) {
  if (tegula::bits(element) >= 32) return bits;
  if (element == Element::boolean) return builder_.CreateICmpNE(bits, llvm::Constant::getNullValue(bits->getType()));
  llvm::Type* const i32 = type_like(bits, builder_.getInt32Ty());
  if (element == Element::bf16)
    return builder_.CreateBitCast(builder_.CreateShl(builder_.CreateZExt(bits, i32), 16),
                                  type_like(bits, builder_.getFloatTy()));
  if (element == Element::f16) {
    if (!traits_.native_f16) return f16_value(bits);
    return builder_.CreateFPExt(builder_.CreateBitCast(bits, type_like(bits, builder_.getHalfTy())),
                                type_like(bits, builder_.getFloatTy()));
  }
  return is_signed(element) || is_f8(element) ? builder_.CreateSExt(bits, i32) : builder_.CreateZExt(bits, i32);
}

llvm::Value* HostArith::to_memory(Element element, llvm::Value* value) {
  if (bits(element) >= 32) return value;
  llvm::Type* const memory = type_like(value, memory_type(element));
  if (element == Element::boolean) return builder_.CreateZExt(value, memory);
  if (element == Element::bf16) {
    llvm::Value* const bits = builder_.CreateBitCast(value, type_like(value, builder_.getInt32Ty()));
    return builder_.CreateTrunc(builder_.CreateLShr(bits, 16), memory);
  }
  if (element == Element::f16) {
    if (!traits_.native_f16) return f16_bits(value);
    return builder_.CreateBitCast(builder_.CreateFPTrunc(value, type_like(value, builder_.getHalfTy())), memory);
  }
  return builder_.CreateTrunc(value, memory);
}

/// Rounds f64 to f32 toward the neighbour with an odd last bit, so that a second rounding to 11 or 8 bits rounds once.
llvm::Value* HostArith::narrow_to_odd(llvm::Value* wide) {
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

llvm::Value* HostArith::float_from_boolean(Element to, llvm::Value* value) {
  return builder_.CreateUIToFP(value, type_like(value, register_type(to)));
}

llvm::Value* HostArith::float_from_integer(Element from, Element to, llvm::Value* value) {
  auto const converted = [&](llvm::Type* scalar) {
    llvm::Type* const type = type_like(value, scalar);
    return is_signed(from) ? builder_.CreateSIToFP(value, type) : builder_.CreateUIToFP(value, type);
  };
  if (!is_narrow_float(to)) return converted(register_type(to));
  if (from == Element::u64) {  // half of a large one, with its last bit kept in sight
    llvm::Value* const top = builder_.CreateLShr(value, 63);
    llvm::Value* const halved = builder_.CreateOr(builder_.CreateLShr(value, top), builder_.CreateAnd(value, top));
    llvm::Value* const small = float_from_integer(Element::i64, to, halved);
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
  return round_to(to, narrow_to_odd(converted(builder_.getDoubleTy())));
}

llvm::Value* HostArith::integer_from_float(Element, Element to, llvm::Value* value) {
  auto const rounding = is_signed(to) ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat;
  llvm::Type* const saturated = type_like(value, memory_type(to));
  return from_memory(to, builder_.CreateIntrinsic(rounding, {saturated, value->getType()}, {value}));
}

llvm::Value* HostArith::float_from_float(Element from, Element to, llvm::Value* value) {
  llvm::Type* const target = type_like(value, register_type(to));
  if (to == Element::f64) return builder_.CreateFPExt(value, target);
  if (from != Element::f64) return round_to(to, value);
  return is_narrow_float(to) ? round_to(to, narrow_to_odd(value)) : builder_.CreateFPTrunc(value, target);
}

/// Written with selects: LLVM turns minnum and maxnum into calls of libm where it does not find the instructions any
/// more.
llvm::Value* HostArith::extreme(bool greater, llvm::Value* a, llvm::Value* b) {
  llvm::Value* const first = greater ? builder_.CreateFCmpOGT(a, b) : builder_.CreateFCmpOLT(a, b);
  llvm::Value* const chosen = builder_.CreateSelect(first, a, b);
  return builder_.CreateSelect(builder_.CreateFCmpUNO(b, b), a, chosen);
}

llvm::Value* HostArith::divide_floats(ir::DivOp const&, llvm::Value* a, llvm::Value* b) {
  return builder_.CreateFDiv(a, b);
}

llvm::Value* HostArith::square_root(ir::SqrtOp const&, llvm::Value* a) {
  return builder_.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, a);
}

llvm::Value* HostArith::fma(Element element, llvm::Value* a, llvm::Value* b, llvm::Value* c) {
  if (traits_.native_fma) return builder_.CreateIntrinsic(llvm::Intrinsic::fma, {a->getType()}, {a, b, c});
  return element == Element::f32 ? fma_through_f64(a, b, c) : nullptr;
}

/// Adds a product of f32 without rounding it. An f64 holds the product, and of the sum the last bit is set where digits
/// are lost: so the sum rounds to f32 as the exact one.
llvm::Value* HostArith::fma_through_f64(llvm::Value* a, llvm::Value* b, llvm::Value* c) {
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

llvm::Value* HostArith::same_bits(Element from, Element to, llvm::Value* value) {
  if (bits(to) < 32) return from_memory(to, to_memory(from, value));  // registers hold them extended
  return builder_.CreateBitCast(value, type_like(value, register_type(to)));
}

llvm::Value* HostArith::lower_own(ir::Op const& op, llvm::Value*) {
  throw UserError(why_not_run(op.info(), ir::on_host), op.where());
}

}  // namespace tegula::codegen::host

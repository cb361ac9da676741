#include "codegen/host/packing.hpp"

#include <algorithm>
#include <numeric>

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsX86.h>

namespace tegula::codegen::host {

namespace {

/// Calls an instruction of the CPU; LLVM's versions differ in the types of the lanes.
llvm::Value* call(llvm::IRBuilder<>& b, llvm::Intrinsic::ID id, std::vector<llvm::Value*> operands) {
  llvm::FunctionType* const type = llvm::Intrinsic::getType(b.getContext(), id);
  for (std::size_t i = 0; i < operands.size(); ++i)
    operands[i] = b.CreateBitCast(operands[i], type->getParamType(static_cast<unsigned>(i)));
  return b.CreateIntrinsic(id, {}, operands);
}

unsigned lanes_of(llvm::Value* value) {
  auto const* const vector = llvm::dyn_cast<llvm::FixedVectorType>(value->getType());
  return vector == nullptr ? 1 : vector->getNumElements();
}

/// Returns the words with as many lanes as the narrowest instruction takes.
llvm::Value* widened(llvm::IRBuilder<>& b, llvm::Value* value, unsigned lanes) {
  if (lanes_of(value) == 1)
    value = b.CreateInsertElement(llvm::FixedVectorType::get(value->getType(), 1), value, std::uint64_t{0});
  std::vector<int> order(lanes, -1);
  std::iota(order.begin(), order.begin() + lanes_of(value), 0);
  return b.CreateShuffleVector(value, order);
}

llvm::Value* narrowed(llvm::IRBuilder<>& b, llvm::Value* value, unsigned lanes) {
  if (lanes == 1) return b.CreateExtractElement(value, std::uint64_t{0});
  std::vector<int> order(lanes);
  std::iota(order.begin(), order.end(), 0);
  return b.CreateShuffleVector(value, order);
}

}  // namespace

Step step_of(HostTarget const& target, ir::Type const& left, ir::Type const& right) {
  std::int64_t const k = right.shape()[0];
  if (right.shape()[1] == 1) return Step::one;
  Element const element = right.element();
  if (element == Element::bf16 && left.element() == Element::bf16 && target.has_bf16_dot && k % 2 == 0)
    return Step::bf16_pairs;
  if (element != Element::i8 && element != Element::u8) return Step::one;
  if (target.has_byte_dot && k % 4 == 0) return element == Element::i8 ? Step::bytes_left : Step::bytes_right;
  return target.has_pair_dot && k % 2 == 0 ? Step::i16_pairs : Step::one;
}

int packed_bits(Step step) {
  switch (step) {
    case Step::one:
      return 0;
    case Step::bytes_left:
    case Step::bytes_right:
      return 8;
    case Step::i16_pairs:
    case Step::bf16_pairs:
    case Step::bf16_pairs_in_f32:
      return 16;
  }
  return 0;
}

int group_of(Step step) { return step == Step::one ? 1 : 32 / packed_bits(step); }

bool flips_left(ir::Type const& left, ir::Type const& right, Step step) {
  return (step == Step::bytes_left || step == Step::bytes_right) && left.element() == right.element();
}

char const* instruction(Step step) {
  switch (step) {
    case Step::one:
      return "";
    case Step::bytes_left:
    case Step::bytes_right:
      return "vpdpbusd";
    case Step::i16_pairs:
      return "pmaddwd";
    case Step::bf16_pairs:
    case Step::bf16_pairs_in_f32:
      return "vdpbf16ps";
  }
  return "";
}

llvm::Value* multiply_add(llvm::IRBuilder<>& b, HostTarget const& target, Step step, llvm::Value* left,
                          llvm::Value* right, llvm::Value* sum) {
  using llvm::Intrinsic::ID;
  auto const fused = [&](llvm::Value* x, llvm::Value* y, llvm::Value* z) -> llvm::Value* {
    return target.has_fma ? b.CreateIntrinsic(llvm::Intrinsic::fma, {z->getType()}, {x, y, z})
                          : b.CreateFAdd(b.CreateFMul(x, y), z);
  };
  if (step == Step::one)
    return sum->getType()->isFPOrFPVectorTy() ? fused(left, right, sum) : b.CreateAdd(b.CreateMul(left, right), sum);
  if (step == Step::bf16_pairs_in_f32) {
    auto const low = [&](llvm::Value* word) { return b.CreateBitCast(b.CreateShl(word, 16), sum->getType()); };
    auto const high = [&](llvm::Value* word) {
      return b.CreateBitCast(b.CreateAnd(word, llvm::ConstantInt::get(word->getType(), 0xFFFF0000)), sum->getType());
    };
    return fused(high(left), high(right), fused(low(left), low(right), sum));
  }
  unsigned const lanes = lanes_of(sum);
  if (lanes < 4) {
    left = widened(b, left, 4);
    right = widened(b, right, 4);
    sum = widened(b, sum, 4);
  }
  unsigned const wide = std::max(lanes, 4U);
  auto const by_lanes = [&](ID four, ID eight, ID sixteen) { return wide == 16 ? sixteen : wide == 8 ? eight : four; };
  llvm::Value* result = nullptr;
  if (step == Step::i16_pairs) {
    result = b.CreateAdd(call(b,
                              by_lanes(llvm::Intrinsic::x86_sse2_pmadd_wd, llvm::Intrinsic::x86_avx2_pmadd_wd,
                                       llvm::Intrinsic::x86_avx512_pmaddw_d_512),
                              {left, right}),
                         sum);
  } else if (step == Step::bf16_pairs) {
    result = call(b,
                  by_lanes(llvm::Intrinsic::x86_avx512bf16_dpbf16ps_128, llvm::Intrinsic::x86_avx512bf16_dpbf16ps_256,
                           llvm::Intrinsic::x86_avx512bf16_dpbf16ps_512),
                  {sum, left, right});
  } else {
    if (step == Step::bytes_right) std::swap(left, right);
    result = call(b,
                  by_lanes(llvm::Intrinsic::x86_avx512_vpdpbusd_128, llvm::Intrinsic::x86_avx512_vpdpbusd_256,
                           llvm::Intrinsic::x86_avx512_vpdpbusd_512),
                  {sum, left, right});
  }
  return lanes < 4 ? narrowed(b, result, lanes) : result;
}

llvm::Value* bf16_bits(llvm::IRBuilder<>& b, llvm::Value* value) {
  return b.CreateLShr(b.CreateBitCast(value, value->getType()->getWithNewType(b.getInt32Ty())), 16);
}

llvm::Value* joined(llvm::IRBuilder<>& b, std::vector<llvm::Value*> const& elements) {
  auto const count = static_cast<unsigned>(elements.size());
  unsigned const bits = 32 / count;
  llvm::Value* word = nullptr;
  for (unsigned i = 0; i < count; ++i) {
    llvm::Value* part = elements[i];
    llvm::Type* const type = part->getType()->getWithNewType(b.getInt32Ty());
    if (part->getType()->isFPOrFPVectorTy()) part = bf16_bits(b, part);
    if (i + 1 == count) {
      part = b.CreateShl(part, i * bits);
    } else {
      part = b.CreateShl(b.CreateAnd(part, llvm::ConstantInt::get(type, (1U << bits) - 1)), i * bits);
    }
    word = word == nullptr ? part : b.CreateOr(word, part);
  }
  return word;
}

void FunctionEmitter::store_min(llvm::Value* from, llvm::Value* to, std::int64_t runs, std::int64_t stride,
                                llvm::Value* words, std::int64_t words_multiple) {
  std::int64_t const lanes = std::gcd(words_multiple, std::int64_t{context.target.vector_bytes / 4});
  llvm::Type* const type = llvm::FixedVectorType::get(b.getInt16Ty(), static_cast<unsigned>(2 * lanes));
  auto const all = [&](std::uint64_t bits) { return llvm::ConstantInt::get(type, bits); };
  llvm::AllocaInst* const least = variable(type, all(0xFFFF));
  loop(i64(0), i64(runs), i64(1), [&](llvm::Value* run) {
    llvm::Value* const start = b.CreateGEP(b.getInt32Ty(), from, b.CreateMul(run, i64(stride)));
    loop(i64(0), words, i64(lanes), [&](llvm::Value* word) {
      llvm::Value* const bits = b.CreateAlignedLoad(type, b.CreateGEP(b.getInt32Ty(), start, word), llvm::Align(4));
      llvm::Value* const magnitude = b.CreateSub(b.CreateAnd(bits, all(0x7FFF)), all(1));  // of 0: the largest
      b.CreateStore(b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, get(least), magnitude), least);
    });
  });
  b.CreateAlignedStore(b.CreateZExt(b.CreateIntMinReduce(get(least), false), b.getInt32Ty()), to, llvm::Align(4));
}

void FunctionEmitter::store_starts(Buffer const& panels, llvm::Value* words, Step step, llvm::Value* to) {
  int const lanes = std::min(panels.panel, native_lanes(Element::i32));
  std::int64_t const count = (panels.shape[1] + panels.panel - 1) / panels.panel * (panels.panel / lanes);
  llvm::Type* const type = llvm::FixedVectorType::get(b.getInt32Ty(), static_cast<unsigned>(lanes));
  llvm::Value* const ones = llvm::ConstantInt::get(type, 0x01010101);
  llvm::AllocaInst* const sum = variable(type);
  // Vector i is in panel i / (vectors of a panel).
  loop(i64(0), i64(count), i64(1), [&](llvm::Value* i) {
    llvm::Value* const vectors = i64(panels.panel / lanes);
    llvm::Value* const panel = b.CreateUDiv(i, vectors);
    llvm::Value* const column = b.CreateMul(b.CreateURem(i, vectors), i64(lanes));
    llvm::Value* const first =
        b.CreateGEP(b.getInt32Ty(), panels.pointer, b.CreateAdd(b.CreateMul(panel, i64(panels.panel_stride)), column));
    b.CreateStore(llvm::Constant::getNullValue(type), sum);
    loop(i64(0), words, i64(1), [&](llvm::Value* word) {
      llvm::Value* const right = b.CreateAlignedLoad(
          type, b.CreateGEP(b.getInt32Ty(), first, b.CreateMul(word, i64(panels.panel))), llvm::Align(4));
      b.CreateStore(multiply_add(b, context.target, step, ones, right, get(sum)), sum);
    });
    // The left operand has 128 more than its signed value, or 128 less than its unsigned one.
    llvm::Value* const all = b.CreateShl(get(sum), 7);
    b.CreateAlignedStore(step == Step::bytes_left ? b.CreateNeg(all) : all,
                         b.CreateGEP(b.getInt32Ty(), to, b.CreateMul(i, i64(lanes))), llvm::Align(4));
  });
}

}  // namespace tegula::codegen::host

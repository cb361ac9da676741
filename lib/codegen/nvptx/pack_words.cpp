#include "codegen/nvptx/pack_words.hpp"

#include <algorithm>

#include <llvm/IR/InlineAsm.h>

#include "codegen/nvptx/ptx/math.hpp"

namespace tegula::codegen::nvptx {
namespace {

/// Finds the f32 that a bf16 was rounded from by Emitter::narrow, or null.
llvm::Value* rounded_bf16(llvm::Value* value) {
  auto const* const call = llvm::dyn_cast<llvm::CallInst>(value);
  if (call == nullptr) return nullptr;
  auto const* const assembly = llvm::dyn_cast<llvm::InlineAsm>(call->getCalledOperand());
  bool const rounds = assembly != nullptr && std::string(assembly->getAsmString()).rfind("cvt.rn.bf16.f32 ", 0) == 0;
  return rounds ? call->getArgOperand(0) : nullptr;
}

llvm::Value* rounded_f16(llvm::Value* value) {
  auto* const cast = llvm::dyn_cast<llvm::FPTruncInst>(value);
  return cast != nullptr && cast->getOperand(0)->getType()->isFloatTy() ? cast->getOperand(0) : nullptr;
}

}  // namespace

Words words_for(Element element, int count) {
  int const width = bytes(element) * 8;
  if (width >= 32) return {width, 1};
  int const total = width * count;
  return total >= 32 ? Words{32, 32 / width} : Words{total, count};
}

llvm::Value* join_bits(Emitter& e, Element element, llvm::Value* const* values, int count, unsigned register_bits) {
  llvm::Type* const type = e.b.getIntNTy(register_bits);
  llvm::Value* result = nullptr;
  int const width = bytes(element) * 8;
  for (int i = 0; i < count; ++i) {
    llvm::Value* part = e.b.CreateZExtOrTrunc(e.to_bits(values[i], element), type);
    if (i > 0) part = e.b.CreateShl(part, llvm::ConstantInt::get(type, static_cast<std::uint64_t>(i * width)));
    result = result == nullptr ? part : e.b.CreateOr(result, part);
  }
  return result;
}

namespace {

/// Packs two values of 16 bits. Where they were rounded one by one they are rounded as a pair: one instruction.
llvm::Value* pack_pair(Emitter& e, Element element, llvm::Value* const* values) {
  if (element == Element::bf16)
    if (llvm::Value* low = rounded_bf16(values[0]), *high = rounded_bf16(values[1]); low != nullptr && high != nullptr)
      return ptx::pack_bf16(e.b, low, high);
  if (element == Element::f16)
    if (llvm::Value* low = rounded_f16(values[0]), *high = rounded_f16(values[1]); low != nullptr && high != nullptr)
      return ptx::pack_f16(e.b, low, high);
  llvm::Type* const pair = llvm::FixedVectorType::get(e.b.getInt16Ty(), 2);
  llvm::Value* both = llvm::PoisonValue::get(pair);
  for (unsigned i = 0; i < 2; ++i)
    both = e.b.CreateInsertElement(both, e.to_bits(values[i], element), std::uint64_t{i});
  return e.b.CreateBitCast(both, e.b.getInt32Ty());
}

/// Packs values of 8 bits that were narrowed from f32, pair by pair; null: some were not.
llvm::Value* pack_narrowed_f8(Emitter& e, Element element, int count, llvm::Value* const* values) {
  Registers halves;
  for (int i = 0; i < count; i += 2)
    if (llvm::Value* low = ptx::narrowed_f8(values[i]), *high = ptx::narrowed_f8(values[i + 1]);
        low != nullptr && high != nullptr)
      halves.push_back(ptx::pack_f8(e.b, element, low, high));
  if (count == 2 && halves.size() == 1) return halves[0];
  if (halves.size() != 2) return nullptr;
  return e.b.CreateOr(e.b.CreateZExt(halves[0], e.b.getInt32Ty()),
                      e.b.CreateShl(e.b.CreateZExt(halves[1], e.b.getInt32Ty()), std::uint64_t{16}));
}

}  // namespace

llvm::Value* pack_word(Emitter& e, Element element, Words const& words, llvm::Value* const* values) {
  if (words.bits >= 32 && words.elements == 1) return values[0];
  if (words.elements == 2 && words.bits == 32 && bytes(element) == 2) return pack_pair(e, element, values);
  if (is_f8(element) && words.elements % 2 == 0)
    if (llvm::Value* const word = pack_narrowed_f8(e, element, words.elements, values); word != nullptr) return word;
  return join_bits(e, element, values, words.elements, words.bits < 32 ? 16 : 32);
}

void unpack_word(Emitter& e, Element element, Words const& words, llvm::Value* word, Registers& result) {
  if (words.bits >= 32 && words.elements == 1) {
    result.push_back(word);
    return;
  }
  if (words.elements == 2 && words.bits == 32 && bytes(element) == 2) {
    llvm::Value* const both = e.b.CreateBitCast(word, llvm::FixedVectorType::get(e.b.getInt16Ty(), 2));
    for (unsigned i = 0; i < 2; ++i)
      result.push_back(e.from_bits(e.b.CreateExtractElement(both, std::uint64_t{i}), element));
    return;
  }
  int const width = bytes(element) * 8;
  for (int i = 0; i < words.elements; ++i) {
    llvm::Value* const part =
        i == 0 ? word
               : e.b.CreateLShr(word, llvm::ConstantInt::get(word->getType(), static_cast<std::uint64_t>(i * width)));
    result.push_back(e.from_bits(e.b.CreateTrunc(part, e.b.getIntNTy(static_cast<unsigned>(width))), element));
  }
}

std::vector<llvm::Type*> word_types(Emitter& e, Element element, std::size_t count) {
  std::vector<llvm::Type*> result;
  auto const per_word = static_cast<std::size_t>(std::max(1, 4 / bytes(element)));
  for (std::size_t i = 0; i < count; i += per_word) {
    Words const words = words_for(element, static_cast<int>(std::min(per_word, count - i)));
    bool const whole = words.bits >= 32 && words.elements == 1;
    result.push_back(whole ? e.type(element) : e.b.getIntNTy(words.bits < 32 ? 16 : 32));
  }
  return result;
}

Registers pack_words(Emitter& e, Element element, Registers const& registers) {
  Registers result;
  int const per_word = std::max(1, 4 / bytes(element));
  for (std::size_t i = 0; i < registers.size(); i += static_cast<std::size_t>(per_word)) {
    int const count = std::min<int>(per_word, static_cast<int>(registers.size() - i));
    result.push_back(pack_word(e, element, words_for(element, count), &registers[i]));
  }
  return result;
}

Registers unpack_words(Emitter& e, Element element, Registers const& words, std::size_t count) {
  Registers result;
  int const per_word = std::max(1, 4 / bytes(element));
  for (llvm::Value* word : words) {
    int const left = std::min<int>(per_word, static_cast<int>(count - result.size()));
    unpack_word(e, element, words_for(element, left), word, result);
  }
  return result;
}

}  // namespace tegula::codegen::nvptx

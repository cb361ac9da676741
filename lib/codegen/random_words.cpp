#include "codegen/random_words.hpp"

#include <llvm/IR/IRBuilder.h>

#include "codegen/lowering.hpp"
#include "tegula/math/philox.hpp"

namespace tegula::codegen {
namespace {

/// Holds 32 bits, for the text of philox.hpp.
struct Word {
  llvm::IRBuilderBase* builder;
  llvm::Value* value;

  friend Word operator^(Word a, Word b) { return {a.builder, a.builder->CreateXor(a.value, b.value)}; }
  friend Word operator+(Word a, std::uint32_t b) {
    return {a.builder, a.builder->CreateAdd(a.value, llvm::ConstantInt::get(a.value->getType(), b))};
  }
};

llvm::Value* half(llvm::IRBuilderBase& b, llvm::Value* wide, bool upper) {
  return b.CreateTrunc(upper ? b.CreateLShr(wide, 32) : wide, type_like(wide, b.getInt32Ty()));
}

math::WideProduct<Word> multiply(Word a, std::uint32_t factor) {
  llvm::IRBuilderBase& b = *a.builder;
  llvm::Type* const type = type_like(a.value, b.getInt64Ty());
  llvm::Value* const product = b.CreateMul(b.CreateZExt(a.value, type), llvm::ConstantInt::get(type, factor));
  return {{&b, half(b, product, false)}, {&b, half(b, product, true)}};
}

}  // namespace

RandomWords random_words(llvm::IRBuilderBase& builder, llvm::Value* seed, llvm::Value* counter) {
  llvm::Value* const wide = builder.CreateSExt(counter, type_like(counter, builder.getInt64Ty()));
  auto const word = [&](llvm::Value* value, bool upper) { return Word{&builder, half(builder, value, upper)}; };
  Word const none{&builder, llvm::Constant::getNullValue(type_like(counter, builder.getInt32Ty()))};
  auto const words = math::philox<Word>({word(wide, false), word(wide, true), none, none},
                                        {word(seed, false), word(seed, true)}, multiply);
  return {words[0].value, words[1].value, words[2].value, words[3].value};
}

llvm::Value* join_words(llvm::IRBuilderBase& builder, llvm::Value* low, llvm::Value* high) {
  llvm::Type* const wide = type_like(low, builder.getInt64Ty());
  return builder.CreateOr(builder.CreateZExt(low, wide), builder.CreateShl(builder.CreateZExt(high, wide), 32));
}

}  // namespace tegula::codegen

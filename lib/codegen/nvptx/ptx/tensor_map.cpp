#include "codegen/nvptx/ptx/tensor_map.hpp"

#include <fmt/format.h>

namespace tegula::codegen::nvptx::ptx {
namespace {

constexpr int bits_per_word = 32;

llvm::Value* word_at(Builder& b, llvm::Value* bits, llvm::Value* word) {
  return b.CreateAdd(bits, b.CreateShl(b.CreateZExt(word, b.getInt64Ty()), b.getInt64(2)));
}

/// Emits an atomic on a word of global memory, at device scope; returns the old word.
llvm::Value* atomic(Builder& b, std::string const& order_and_name, llvm::Value* address, llvm::Value* operand) {
  auto const dot = order_and_name.find('.');
  Assembly assembly(b);
  std::string text = "atom." + order_and_name.substr(0, dot) + ".gpu.global" + order_and_name.substr(dot) + ".b32 ";
  text += assembly.out(b.getInt32Ty());
  text += ", [" + assembly.in(address) + "], ";
  return assembly.call(text + assembly.in(operand) + ";", AsmEffect::convergent)[0];
}

}  // namespace

void replace_address(Builder& b, llvm::Value* map, llvm::Value* address) {
  Assembly assembly(b);
  std::string const text = "tensormap.replace.tile.global_address.global.b1024.b64 [" + assembly.in(map) + "], ";
  assembly.call(text + assembly.in(address) + ";", AsmEffect::convergent);
}

void replace_extent(Builder& b, llvm::Value* map, int axis, llvm::Value* extent) {
  Assembly assembly(b);
  std::string const text =
      fmt::format("tensormap.replace.tile.global_dim.global.b1024.b32 [{}], {}, ", assembly.in(map), axis);
  assembly.call(text + assembly.in(extent) + ";", AsmEffect::convergent);
}

void release_tensor_maps(Builder& b) {
  Assembly(b).call("fence.proxy.tensormap::generic.release.gpu;", AsmEffect::convergent);
}

void acquire_tensor_map(Builder& b, llvm::Value* map) {
  Assembly assembly(b);
  std::string const text = "fence.proxy.tensormap::generic.acquire.gpu [" + assembly.in(map) + "], 128;";
  assembly.call(text, AsmEffect::convergent);
}

llvm::Value* claim_bit(Builder& b, llvm::Value* bits, llvm::Value* first, int words) {
  llvm::LLVMContext& context = b.getContext();
  llvm::BasicBlock* const before = b.GetInsertBlock();
  llvm::Function* const function = before->getParent();
  auto const block = [&](char const* name) { return llvm::BasicBlock::Create(context, name, function); };
  llvm::BasicBlock *const look = block("claim"), *const take = block("claim.take"), *const next = block("claim.next");
  llvm::BasicBlock* const done = block("claimed");
  b.CreateBr(look);

  b.SetInsertPoint(look);
  llvm::PHINode* const word = b.CreatePHI(b.getInt32Ty(), 3);
  word->addIncoming(first, before);
  llvm::Value* const address = word_at(b, bits, word);
  Assembly assembly(b);
  std::string const load = "ld.relaxed.gpu.global.b32 " + assembly.out(b.getInt32Ty());
  llvm::Value* const taken = assembly.call(load + ", [" + assembly.in(address) + "];", AsmEffect::convergent)[0];
  llvm::Value* const clear = b.CreateNot(taken);
  b.CreateCondBr(b.CreateICmpEQ(clear, b.getInt32(0)), next, take);

  b.SetInsertPoint(take);
  llvm::Value* const bit = b.CreateAnd(clear, b.CreateNeg(clear));  // the lowest
  llvm::Value* const old = atomic(b, "acquire.or", address, bit);
  word->addIncoming(word, take);
  b.CreateCondBr(b.CreateICmpEQ(b.CreateAnd(old, bit), b.getInt32(0)), done, look);

  b.SetInsertPoint(next);
  llvm::Value* const following = b.CreateAdd(word, b.getInt32(1));
  llvm::Value* const wraps = b.CreateICmpEQ(following, b.getInt32(static_cast<std::uint32_t>(words)));
  word->addIncoming(b.CreateSelect(wraps, b.getInt32(0), following), next);
  b.CreateBr(look);

  b.SetInsertPoint(done);
  llvm::Value* const in_word = b.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, bit, b.getTrue());
  return b.CreateAdd(b.CreateMul(word, b.getInt32(bits_per_word)), in_word);
}

void free_bit(Builder& b, llvm::Value* bits, llvm::Value* number) {
  llvm::Value* const word = b.CreateLShr(number, b.getInt32(5));
  llvm::Value* const bit = b.CreateShl(b.getInt32(1), b.CreateAnd(number, b.getInt32(bits_per_word - 1)));
  atomic(b, "release.and", word_at(b, bits, word), b.CreateNot(bit));
}

}  // namespace tegula::codegen::nvptx::ptx

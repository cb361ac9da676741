#include "codegen/nvptx/unroll.hpp"

#include <llvm/IR/Constants.h>
#include <llvm/IR/Metadata.h>

namespace tegula::codegen::nvptx {

void unroll(llvm::BranchInst* back, std::int64_t factor) {
  llvm::LLVMContext& context = back->getContext();
  auto const node = [&](char const* name, auto... values) {
    return llvm::MDNode::get(context, {llvm::MDString::get(context, name), values...});
  };
  llvm::MDNode* const hint =
      factor > 1
          ? node("llvm.loop.unroll.count", llvm::ConstantAsMetadata::get(llvm::ConstantInt::get(
                                               llvm::Type::getInt32Ty(context), static_cast<std::uint64_t>(factor))))
          : node("llvm.loop.unroll.disable");
  llvm::MDNode* const loop = llvm::MDNode::getDistinct(context, {nullptr, hint});
  loop->replaceOperandWith(0, loop);
  back->setMetadata(llvm::LLVMContext::MD_loop, loop);
}

}  // namespace tegula::codegen::nvptx

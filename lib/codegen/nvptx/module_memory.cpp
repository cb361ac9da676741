#include "codegen/nvptx/module_memory.hpp"

#include <llvm/IR/Module.h>

namespace tegula::codegen::nvptx {

llvm::GlobalVariable& zeroed_memory(Emitter& e, std::string const& name, std::int64_t size, std::int64_t alignment) {
  auto* const type = llvm::ArrayType::get(e.b.getInt8Ty(), static_cast<std::uint64_t>(size));
  auto* const memory = new llvm::GlobalVariable(
      *e.b.GetInsertBlock()->getModule(), type, false, llvm::GlobalValue::InternalLinkage,
      llvm::ConstantAggregateZero::get(type), name, nullptr, llvm::GlobalValue::NotThreadLocal, 1);
  memory->setAlignment(llvm::Align(static_cast<std::uint64_t>(alignment)));
  return *memory;
}

}  // namespace tegula::codegen::nvptx

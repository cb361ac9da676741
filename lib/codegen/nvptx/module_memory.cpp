#include "codegen/nvptx/module_memory.hpp"

#include <llvm/IR/Module.h>

namespace tegula::codegen::nvptx {
namespace {

llvm::GlobalVariable* variable(Emitter& e, llvm::Constant* value, bool constant, std::string const& name,
                               std::uint64_t alignment) {
  constexpr unsigned global_space = 1;
  auto* const memory = new llvm::GlobalVariable(*e.b.GetInsertBlock()->getModule(), value->getType(), constant,
                                                llvm::GlobalValue::InternalLinkage, value, name, nullptr,
                                                llvm::GlobalValue::NotThreadLocal, global_space);
  memory->setAlignment(llvm::Align(alignment));
  return memory;
}

}  // namespace

llvm::GlobalVariable& zeroed_memory(Emitter& e, std::string const& name, std::int64_t size, std::int64_t alignment) {
  auto* const type = llvm::ArrayType::get(e.b.getInt8Ty(), static_cast<std::uint64_t>(size));
  return *variable(e, llvm::ConstantAggregateZero::get(type), false, name, static_cast<std::uint64_t>(alignment));
}

llvm::GlobalVariable& constant_memory(Emitter& e, std::string const& name, std::span<std::byte const> bytes) {
  constexpr std::uint64_t alignment = 128;
  llvm::StringRef const raw(reinterpret_cast<char const*>(bytes.data()), bytes.size());
  return *variable(e, llvm::ConstantDataArray::getRaw(raw, bytes.size(), e.b.getInt8Ty()), true, name, alignment);
}

}  // namespace tegula::codegen::nvptx

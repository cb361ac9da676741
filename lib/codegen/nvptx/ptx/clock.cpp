#include "codegen/nvptx/ptx/clock.hpp"

#include <fmt/format.h>

namespace tegula::codegen::nvptx::ptx {
namespace {

llvm::Value* special(Builder& b, llvm::Type* type, std::string const& name, Values const& after = {}) {
  Assembly assembly(b);
  std::string const text = fmt::format("mov.u{} {}, {};", type->getIntegerBitWidth(), assembly.out(type), name);
  for (llvm::Value* value : after) assembly.in(value);
  return assembly.call(text, AsmEffect::memory)[0];
}

}  // namespace

llvm::Value* clock(Builder& b, Values const& after) { return special(b, b.getInt32Ty(), "%clock", after); }
llvm::Value* global_timer(Builder& b) { return special(b, b.getInt64Ty(), "%globaltimer"); }
llvm::Value* grid_number(Builder& b) { return special(b, b.getInt64Ty(), "%gridid"); }
llvm::Value* multiprocessor(Builder& b) { return special(b, b.getInt32Ty(), "%smid"); }
llvm::Value* lane(Builder& b) { return special(b, b.getInt32Ty(), "%laneid"); }

llvm::Value* count_up(Builder& b, llvm::Value* address, llvm::Value* predicate, llvm::Value* otherwise) {
  Assembly assembly(b);
  std::string const old = assembly.inout(otherwise);
  std::string const at = assembly.in(address), where = assembly.in(predicate);
  return assembly.call("@" + where + " atom.global.relaxed.gpu.add.u32 " + old + ", [" + at + "], 1;",
                       AsmEffect::memory)[0];
}

}  // namespace tegula::codegen::nvptx::ptx

#include "codegen/nvptx/ptx/cp_async.hpp"

#include <fmt/format.h>

#include "tegula/support/error.hpp"

namespace tegula::codegen::nvptx::ptx {

void cp_async(Builder& b, llvm::Value* destination, llvm::Value* global, int size, llvm::Value* valid) {
  if (size != 4 && size != 8 && size != 16)
    throw InternalError(fmt::format("nvptx: cp.async of {} bytes; 4, 8 and 16 exist", size));
  Assembly assembly(b);
  // 16 bytes bypass L1, which would only hold a copy that is not read again.
  std::string text = std::string("cp.async.") + (size == 16 ? "cg" : "ca") + ".shared.global [";
  text += assembly.in(destination) + "], [";
  text += fmt::format("{}], {}", assembly.in(global), size);
  if (valid != nullptr) text += ", " + assembly.number(valid);
  assembly.call(text + ";", AsmEffect::convergent);
}

void cp_async_commit(Builder& b) { Assembly(b).call("cp.async.commit_group;", AsmEffect::convergent); }
void cp_async_wait(Builder& b, int pending) {
  Assembly(b).call(fmt::format("cp.async.wait_group {};", pending), AsmEffect::convergent);
}

}  // namespace tegula::codegen::nvptx::ptx

#include "codegen/nvptx/ptx/mbarrier.hpp"

#include <fmt/format.h>

namespace tegula::codegen::nvptx::ptx {
namespace {

/// Emits `opcode` on [address], with a discarded state before it and an operand after it where there is one.
void arrival(Builder& b, std::string const& opcode, llvm::Value* address, llvm::Value* operand, bool state = true) {
  Assembly assembly(b);
  std::string text = opcode + (state ? " _, [" : " [") + assembly.in(address) + "]";
  if (operand != nullptr) text += ", " + assembly.number(operand);
  assembly.call(text + ";", AsmEffect::convergent);
}

llvm::Value* count_operand(Builder& b, std::int64_t count) {
  return count == 1 ? nullptr : b.getInt32(static_cast<std::uint32_t>(count));
}

}  // namespace

void mbarrier_init(Builder& b, llvm::Value* barrier, std::int64_t count) {
  arrival(b, "mbarrier.init.shared::cta.b64", barrier, b.getInt32(static_cast<std::uint32_t>(count)), false);
}

void mbarrier_inval(Builder& b, llvm::Value* barrier) {
  arrival(b, "mbarrier.inval.shared::cta.b64", barrier, nullptr, false);
}

void mbarrier_arrive(Builder& b, llvm::Value* barrier, std::int64_t count, bool at_once) {
  if (!at_once) {
    for (std::int64_t i = 0; i < count; ++i) arrival(b, "mbarrier.arrive.shared::cta.b64", barrier, nullptr);
    return;
  }
  arrival(b, "mbarrier.arrive.shared::cta.b64", barrier, count_operand(b, count));
}

void mbarrier_arrive_expect_tx(Builder& b, llvm::Value* barrier, llvm::Value* bytes) {
  arrival(b, "mbarrier.arrive.expect_tx.shared::cta.b64", barrier, bytes);
}

void mbarrier_expect_tx(Builder& b, llvm::Value* barrier, llvm::Value* bytes) {
  arrival(b, "mbarrier.expect_tx.relaxed.cta.shared::cta.b64", barrier, bytes, false);
}

llvm::Value* mapa(Builder& b, llvm::Value* address, llvm::Value* rank) {
  Assembly assembly(b);
  std::string text = "mapa.shared::cluster.u32 " + assembly.out(b.getInt32Ty());
  text += ", " + assembly.in(address);
  return assembly.call(text + ", " + assembly.number(rank) + ";", AsmEffect::pure)[0];
}

void mbarrier_arrive_remote(Builder& b, llvm::Value* remote, std::int64_t count, bool relaxed) {
  // Relaxed: of the CTA's scope. `.relaxed` itself needs PTX 8.6.
  arrival(b, std::string("mbarrier.arrive") + (relaxed ? "" : ".release.cluster") + ".shared::cluster.b64", remote,
          count_operand(b, count));
}

void store_async(Builder& b, llvm::Value* address, std::int64_t offset, std::vector<llvm::Value*> const& words,
                 llvm::Value* barrier, llvm::Value* predicate) {
  Assembly assembly(b);
  std::string text = predicate == nullptr ? "" : "@" + assembly.in(predicate) + " ";
  text += "st.async.shared::cluster.mbarrier::complete_tx::bytes";
  if (words.size() > 1) text += fmt::format(".v{}", words.size());
  text += fmt::format(".b32 [{}+{}], ", assembly.in(address), offset);
  std::vector<std::string> names;
  for (llvm::Value* word : words) names.push_back(assembly.in(word));
  text += names.size() == 1 ? names[0] : braces(names);
  assembly.call(text + ", [" + assembly.in(barrier) + "];", AsmEffect::convergent);
}

void mbarrier_wait(Builder& b, llvm::Value* barrier, llvm::Value* parity, Scope scope, bool suspends) {
  llvm::LLVMContext& context = b.getContext();
  llvm::Function* const function = b.GetInsertBlock()->getParent();
  llvm::BasicBlock* const wait = llvm::BasicBlock::Create(context, "wait", function);
  llvm::BasicBlock* const done = llvm::BasicBlock::Create(context, "waited", function);
  b.CreateBr(wait);
  b.SetInsertPoint(wait);
  Assembly assembly(b);
  std::string text = std::string(suspends ? "mbarrier.try_wait.parity" : "mbarrier.test_wait.parity") +
                     (scope == Scope::cluster ? ".acquire.cluster" : "") + ".shared::cta.b64 " +
                     assembly.out(b.getInt1Ty());
  text += ", [" + assembly.in(barrier) + "], ";
  llvm::Value* const passed = assembly.call(text + assembly.number(parity) + ";", AsmEffect::convergent)[0];
  b.CreateCondBr(passed, done, wait);
  b.SetInsertPoint(done);
}

void cp_async_mbarrier_arrive(Builder& b, llvm::Value* barrier, bool counted) {
  arrival(b, std::string("cp.async.mbarrier.arrive") + (counted ? ".noinc" : "") + ".shared::cta.b64", barrier, nullptr,
          false);
}

void fence_mbarrier_init(Builder& b) {
  Assembly(b).call("fence.mbarrier_init.release.cluster;", AsmEffect::convergent);
}

}  // namespace tegula::codegen::nvptx::ptx

#include "codegen/nvptx/ptx/math.hpp"

namespace tegula::codegen::nvptx::ptx {
namespace {

llvm::Value* function(Builder& b, std::string const& opcode, llvm::Type* result, Values const& operands,
                      AsmEffect effect = AsmEffect::pure) {
  Assembly assembly(b);
  std::string text = opcode + " " + assembly.out(result);
  for (llvm::Value* operand : operands) text += ", " + assembly.in(operand);
  return assembly.call(text + ";", effect)[0];
}

llvm::Value* counter(Builder& b, char const* name) {
  Assembly assembly(b);
  std::string const text = "mov.u64 " + assembly.out(b.getInt64Ty()) + ", " + name + ";";
  return assembly.call(text, AsmEffect::memory)[0];  // read where it stands
}

}  // namespace

llvm::Value* ex2_approx(Builder& b, llvm::Value* x) { return function(b, "ex2.approx.ftz.f32", b.getFloatTy(), {x}); }
llvm::Value* lg2_approx(Builder& b, llvm::Value* x) { return function(b, "lg2.approx.ftz.f32", b.getFloatTy(), {x}); }
llvm::Value* rcp_approx(Builder& b, llvm::Value* x) { return function(b, "rcp.approx.ftz.f32", b.getFloatTy(), {x}); }

llvm::Value* pack_bf16(Builder& b, llvm::Value* low, llvm::Value* high) {
  return function(b, "cvt.rn.bf16x2.f32", b.getInt32Ty(), {high, low});
}
llvm::Value* pack_f16(Builder& b, llvm::Value* low, llvm::Value* high) {
  return function(b, "cvt.rn.f16x2.f32", b.getInt32Ty(), {high, low});
}
llvm::Value* round_tf32(Builder& b, llvm::Value* x) { return function(b, "cvt.rna.tf32.f32", b.getInt32Ty(), {x}); }

llvm::Value* global_timer(Builder& b) { return counter(b, "%globaltimer"); }
llvm::Value* clock(Builder& b) { return counter(b, "%clock64"); }

}  // namespace tegula::codegen::nvptx::ptx

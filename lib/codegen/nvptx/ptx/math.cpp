#include "codegen/nvptx/ptx/math.hpp"

#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Instructions.h>

namespace tegula::codegen::nvptx::ptx {
namespace {

llvm::Value* function(Builder& b, std::string const& opcode, llvm::Type* result, Values const& operands,
                      AsmEffect effect = AsmEffect::pure) {
  Assembly assembly(b);
  std::string text = opcode + " " + assembly.out(result);
  for (llvm::Value* operand : operands) text += ", " + assembly.in(operand);
  return assembly.call(text + ";", effect)[0];
}

}  // namespace

llvm::Value* rcp_approx(Builder& b, llvm::Value* x) { return function(b, "rcp.approx.ftz.f32", b.getFloatTy(), {x}); }

llvm::Value* shift_right_pair(Builder& b, llvm::Value* low, llvm::Value* high, llvm::Value* bits) {
  return function(b, "shf.r.wrap.b32", b.getInt32Ty(), {low, high, bits});
}

llvm::Value* pack_bf16(Builder& b, llvm::Value* low, llvm::Value* high) {
  return function(b, "cvt.rn.bf16x2.f32", b.getInt32Ty(), {high, low});
}
llvm::Value* pack_f16(Builder& b, llvm::Value* low, llvm::Value* high) {
  return function(b, "cvt.rn.f16x2.f32", b.getInt32Ty(), {high, low});
}
llvm::Value* narrow_f8(Builder& b, Element element, llvm::Value* x) {
  return b.CreateTrunc(pack_f8(b, element, x, llvm::ConstantFP::get(b.getFloatTy(), 0)), b.getInt8Ty());
}
llvm::Value* narrowed_f8(llvm::Value* value) {
  auto const* const truncated = llvm::dyn_cast<llvm::TruncInst>(value);
  auto const* const call = truncated == nullptr ? nullptr : llvm::dyn_cast<llvm::CallInst>(truncated->getOperand(0));
  auto const* const assembly = call == nullptr ? nullptr : llvm::dyn_cast<llvm::InlineAsm>(call->getCalledOperand());
  if (assembly == nullptr || std::string(assembly->getAsmString()).rfind("cvt.rn.satfinite.e", 0) != 0) return nullptr;
  return call->getArgOperand(1);
}
llvm::Value* pack_f8(Builder& b, Element element, llvm::Value* low, llvm::Value* high) {
  return function(b, "cvt.rn.satfinite." + std::string(info(element).ptx) + "x2.f32", b.getInt16Ty(), {high, low});
}
llvm::Value* widen_f8(Builder& b, Element element, llvm::Value* bits) {
  llvm::Value* const wide = b.CreateZExt(bits, b.getInt16Ty());
  bool const upper_half = exponent_bits(element) == exponent_bits(Element::f16);  // of an f16
  llvm::Value* const half =
      upper_half
          ? b.CreateShl(wide, std::uint64_t{8})
          : b.CreateTrunc(function(b, "cvt.rn.f16x2." + std::string(info(element).ptx) + "x2", b.getInt32Ty(), {wide}),
                          b.getInt16Ty());
  return b.CreateFPExt(b.CreateBitCast(half, b.getHalfTy()), b.getFloatTy());
}

}  // namespace tegula::codegen::nvptx::ptx

// PTX instructions that LLVM 19 and 22 have no common name for, as inline assembly. Everything that threads do together
// is convergent; everything that touches memory is ordered.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <string>
#include <vector>

namespace tegula::codegen::nvptx {

enum class AsmEffect : std::uint8_t {
  pure,        ///< a function of its operands
  memory,      ///< ordered with everything that touches memory
  convergent,  ///< the same, and threads do it together or its count matters: never moved into or out of branches
  together,    ///< threads exchange registers: convergent, no memory
};

/// A call of inline assembly.
llvm::CallInst* inline_ptx(llvm::IRBuilder<>& b, llvm::Type* result, std::string const& text,
                           std::string const& constraints, llvm::ArrayRef<llvm::Value*> arguments,
                           AsmEffect effect = AsmEffect::pure);

/// The constraint letter of a register type: b, h, r, l, f or d; pointers are generic.
char constraint_of(llvm::Type* type);

/// Registers of one type from address + offset where `predicate` holds, else the values of `otherwise`, which also says
/// how many there are. `space` is "global", "global.nc" (a 64-bit address) or "shared" (a 32-bit one).
std::vector<llvm::Value*> load_vector(llvm::IRBuilder<>& b, std::string const& space, llvm::Value* predicate,
                                      llvm::Value* address, std::int64_t offset,
                                      std::vector<llvm::Value*> const& otherwise, int bits);
/// Writes the registers to address + offset in `space` ("global": a 64-bit address, "shared": a 32-bit one) where
/// `predicate` holds.
void store_vector(llvm::IRBuilder<>& b, std::string const& space, llvm::Value* predicate, llvm::Value* address,
                  std::int64_t offset, std::vector<llvm::Value*> const& values, int bits);

}  // namespace tegula::codegen::nvptx

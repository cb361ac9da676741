// Emits PTX instructions for which LLVM 19 and 22 lack a common name, as inline assembly. Every instruction that
// threads do together is convergent; every one that accesses memory is ordered.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <string>
#include <vector>

namespace tegula::codegen::nvptx {

enum class AsmEffect : std::uint8_t {
  pure,        ///< a function of its operands
  memory,      ///< ordered with every access to memory
  convergent,  ///< the same, and threads do it together or its count matters: never moved into or out of branches
  together,    ///< threads exchange registers: convergent, does not access memory
  here,        ///< stays where it stands, and does not access memory
};

/// Emits a call of inline assembly.
llvm::CallInst* inline_ptx(llvm::IRBuilder<>& b, llvm::Type* result, std::string const& text,
                           std::string const& constraints, llvm::ArrayRef<llvm::Value*> arguments,
                           AsmEffect effect = AsmEffect::pure);

/// Returns a value of a register, computed here. LLVM would compute it just ahead of its use, behind branches too, and
/// hold all that it is computed from until then.
llvm::Value* computed_here(llvm::IRBuilder<>& b, llvm::Value* value);

/// Returns the constraint letter of a register type: b, h, r, l, f or d. Pointers are generic.
char constraint_of(llvm::Type* type);

/// Loads registers of one type from address + offset where `predicate` holds, else returns the values of `otherwise`,
/// whose count is the number of registers. `space` is "global", "global.nc" (a 64-bit address) or "shared" (a 32-bit
/// one).
std::vector<llvm::Value*> load_vector(llvm::IRBuilder<>& b, std::string const& space, llvm::Value* predicate,
                                      llvm::Value* address, std::int64_t offset,
                                      std::vector<llvm::Value*> const& otherwise, int bits);
/// Writes the registers to address + offset in `space` ("global": a 64-bit address, "shared": a 32-bit one) where
/// `predicate` holds.
void store_vector(llvm::IRBuilder<>& b, std::string const& space, llvm::Value* predicate, llvm::Value* address,
                  std::int64_t offset, std::vector<llvm::Value*> const& values, int bits);

}  // namespace tegula::codegen::nvptx

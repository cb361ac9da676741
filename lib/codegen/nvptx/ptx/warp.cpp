#include "codegen/nvptx/ptx/warp.hpp"

#include <fmt/format.h>

#include "tegula/support/error.hpp"

namespace tegula::codegen::nvptx::ptx {
namespace {

std::string matrix_form(char const* opcode, std::size_t matrices, bool transposed) {
  if (matrices != 1 && matrices != 2 && matrices != 4)
    throw InternalError(fmt::format("nvptx: {} of {} matrices; 1, 2 and 4 exist", opcode, matrices));
  return fmt::format("{}.sync.aligned.m8n8.x{}{}.shared.b16 ", opcode, matrices, transposed ? ".trans" : "");
}

llvm::Value* shuffle(Builder& b, char const* mode, llvm::Value* value, llvm::Value* lane) {
  Assembly assembly(b);
  std::string text = std::string("shfl.sync.") + mode + ".b32 " + assembly.out(b.getInt32Ty());
  text += ", " + assembly.in(value);
  text += ", " + assembly.number(lane) + ", 31, -1;";
  return assembly.call(text, AsmEffect::together)[0];
}

llvm::Value* vote(Builder& b, char const* mode, llvm::Value* predicate) {
  Assembly assembly(b);
  std::string text = std::string("vote.sync.") + mode + ".pred " + assembly.out(b.getInt1Ty());
  text += ", " + assembly.in(predicate) + ", -1;";
  return assembly.call(text, AsmEffect::together)[0];
}

}  // namespace

llvm::Value* elect(Builder& b) {
  Assembly assembly(b);
  std::string const text = "elect.sync _|" + assembly.out(b.getInt1Ty()) + ", -1;";
  return assembly.call(text, AsmEffect::together)[0];
}

llvm::Value* copied_here(Builder& b, llvm::Value* value) {
  Assembly assembly(b);
  std::string text = "mov.b32 " + assembly.out(b.getInt32Ty());
  text += ", " + assembly.in(value) + ";";
  return assembly.call(text, AsmEffect::together)[0];
}

llvm::Value* cluster_rank(Builder& b) {
  Assembly assembly(b);
  std::string const text = "mov.u32 " + assembly.out(b.getInt32Ty()) + ", %cluster_ctarank;";
  return assembly.call(text, AsmEffect::pure)[0];
}

llvm::Value* shuffle_idx(Builder& b, llvm::Value* value, llvm::Value* lane) { return shuffle(b, "idx", value, lane); }
llvm::Value* shuffle_xor(Builder& b, llvm::Value* value, std::uint32_t mask) {
  return shuffle(b, "bfly", value, b.getInt32(mask));
}

llvm::Value* vote_any(Builder& b, llvm::Value* predicate) { return vote(b, "any", predicate); }
llvm::Value* vote_all(Builder& b, llvm::Value* predicate) { return vote(b, "all", predicate); }

llvm::Value* ballot(Builder& b, llvm::Value* predicate) {
  Assembly assembly(b);
  std::string text = "vote.sync.ballot.b32 " + assembly.out(b.getInt32Ty());
  text += ", " + assembly.in(predicate) + ", -1;";
  return assembly.call(text, AsmEffect::together)[0];
}

Values ldmatrix(Builder& b, llvm::Value* address, int matrices, bool transposed) {
  std::string const opcode = matrix_form("ldmatrix", static_cast<std::size_t>(matrices), transposed);
  Assembly assembly(b);
  std::vector<std::string> names;
  for (int i = 0; i < matrices; ++i) names.push_back(assembly.out(b.getInt32Ty()));
  return assembly.call(opcode + braces(names) + ", [" + assembly.in(address) + "];", AsmEffect::convergent);
}

void stmatrix(Builder& b, llvm::Value* address, Values const& registers, bool transposed) {
  Assembly assembly(b);
  std::string const text = matrix_form("stmatrix", registers.size(), transposed) + "[" + assembly.in(address) + "], ";
  std::vector<std::string> names;
  for (llvm::Value* value : registers) names.push_back(assembly.in(value));
  assembly.call(text + braces(names) + ";", AsmEffect::convergent);
}

}  // namespace tegula::codegen::nvptx::ptx

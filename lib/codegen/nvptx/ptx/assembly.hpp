// Builds one instruction of inline PTX: operands and constraints are declared together, so that the numbers in the text
// are right by construction.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "codegen/nvptx/inline_ptx.hpp"

namespace tegula::codegen::nvptx::ptx {

using Builder = llvm::IRBuilder<>;
using Values = std::vector<llvm::Value*>;

/// Declares operands and makes the call. Outputs come first, then inputs; each declaration returns the operand's name
/// in the text.
class Assembly {
 public:
  explicit Assembly(Builder& b) : b_(b) {}

  /// Declares a register that is written.
  std::string out(llvm::Type* type);
  /// Declares a register that is written before all inputs are read, and stays apart from them.
  std::string early_out(llvm::Type* type);
  /// Declares a register that is read and written.
  std::string inout(llvm::Value* value);
  std::string in(llvm::Value* value);
  /// Declares a 32-bit input whose value may be a constant: constants appear in the text.
  std::string number(llvm::Value* value);

  /// Makes the call and returns the outputs in declared order. The text needs its final semicolon.
  Values call(std::string const& text, AsmEffect effect);

 private:
  std::string output(llvm::Type* type, char const* mark);

  Builder& b_;
  std::vector<llvm::Type*> results_;
  std::string outputs_, inputs_, ties_;
  Values arguments_, tied_;
};

/// Returns "{a, b, c}".
std::string braces(std::vector<std::string> const& names);

}  // namespace tegula::codegen::nvptx::ptx

// Notes which function and line of the user's source each instruction comes from, for debuggers and profilers.
#pragma once

#include <map>
#include <string>

#include <llvm/IR/DIBuilder.h>
#include <llvm/IR/DebugLoc.h>

#include "ir/core/op.hpp"

namespace tegula::codegen {

/// Writes the line table of a module. Every function that `begin` names gets a location for each op: calls in such a
/// function must have one.
class LineTable {
 public:
  /// Says what a target's code holds: all that a debugger reads, or the directives of PTX.
  enum class Kind : std::uint8_t { dwarf, directives };

  LineTable(llvm::Module& module, ir::Function const& kernel, Kind kind);

  /// Returns the function the name and the line of the user's one. Returns the location of code without an op.
  llvm::DebugLoc begin(llvm::Function& function, ir::Function const& source);
  /// Returns the location of an op in a function that has begun; without a known line it has line 0.
  llvm::DebugLoc at(llvm::Function const& function, location const& where);
  /// Completes the table, when all functions are emitted.
  void finish() { builder_.finalize(); }

 private:
  llvm::DIFile* file(std::string const& path);

  llvm::DIBuilder builder_;
  std::map<std::pair<llvm::DIScope*, std::string>, llvm::DIScope*> scopes_;
};

}  // namespace tegula::codegen

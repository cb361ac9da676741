// Proves that LLVM left the synchronisation alone: every instruction that threads do together is counted in the module
// as lowered and again in the PTX. An optimiser that does not know about divergence duplicates or sinks them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "codegen/llvm_fwd.hpp"

namespace llvm {
class Instruction;
}

namespace tegula::codegen::nvptx {

class SyncCensus {
 public:
  /// Marks every convergent inline assembly of the module, before LLVM's passes see it.
  explicit SyncCensus(llvm::Module& module);

  /// Returns the PTX without the marks. Throws InternalError, naming the instruction and both counts, when one is
  /// missing or duplicated. All those of one basic block may be missing, since LLVM may prove that it never runs.
  [[nodiscard]] std::string checked(std::string const& ptx, std::string const& kernel) const;

  /// Tells whether a census counts the instruction: LLVM must not duplicate it.
  [[nodiscard]] static bool counts(llvm::Instruction const& instruction);

  /// Counts each instruction (by its opcode) as lowered.
  [[nodiscard]] std::map<std::string, int> lowered() const;

 private:
  struct Mark {
    std::string opcode;
    int block;
  };
  std::vector<Mark> marks_;
};

}  // namespace tegula::codegen::nvptx

// Emits a chain of elementwise ops a few elements at a time, from the first op to the last, then the next few.
#pragma once

#include <cstdint>
#include <vector>

#include "codegen/llvm_fwd.hpp"
#include "ir/memory/element_chains.hpp"

namespace tegula::codegen::nvptx {

class Emitter;

/// Parts the ops of a block into chains, by the registers that a thread needs for their values.
std::vector<ir::ElementChain> chains_of(ir::Block const& ops);

/// Emits the chains of one function.
class ChainCode {
 public:
  explicit ChainCode(Emitter& emitter) : e_(emitter) {}
  void emit(ir::ElementChain const& chain);

 private:
  /// Keeps the assembler from mixing what comes with the code for these tiles: a branch that is never taken.
  void keep_apart(std::vector<ir::Value const*> const& computed);

  Emitter& e_;
  llvm::BasicBlock* never_ = nullptr;  ///< where that branch would lead
  std::int64_t apart_ = 0;             ///< counts such branches
};

}  // namespace tegula::codegen::nvptx

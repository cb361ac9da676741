// Finds arithmetic that a thread does a few elements at a time, from the first op of a chain to its last.
#pragma once

#include <functional>
#include <vector>

#include "ir/core/op.hpp"

namespace tegula::ir {

/// Lists ops that stand one after another in a block. Where they are a chain, a thread computes a few elements of all
/// of them before the next few, so that values within the chain take registers for those elements alone.
struct ElementChain {
  std::vector<Op const*> ahead;     ///< ops between those of the chain that do not depend on it
  std::vector<Op const*> ops;       ///< elementwise ops on tiles of one shape and layout; or any single op
  std::vector<Op const*> all;       ///< both, as they stand in the block
  std::vector<Value const*> taken;  ///< tiles that the chain takes from others
  std::vector<Value const*> given;  ///< its results that others use
  int spared = 0;                   ///< registers that a thread needs less than with whole tiles; 0: op by op
  int parts = 1;                    ///< so many times a thread goes through the chain

  [[nodiscard]] bool by_elements() const { return spared > 0; }
  /// Counts the registers of values within the chain.
  [[nodiscard]] int inside() const { return (spared + parts - 1) / parts; }
};

/// Registers of a tile that a thread takes through a long chain at a time, and through a short one on a large tile.
/// The more, the more latency is hidden; 16 of the latter need no spills.
inline constexpr int chain_registers = 2, large_tile_registers = 16;

/// Parts a block into chains and single ops, in order. `cost` returns the registers of a value in a thread.
std::vector<ElementChain> element_chains(Block const& block, std::function<int(Value const&)> const& cost);

}  // namespace tegula::ir

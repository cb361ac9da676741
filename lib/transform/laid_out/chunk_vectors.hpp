// Loads the parts of vectors for chunks of the tile that they are spread over, such as a bias.
#pragma once

#include <span>
#include <vector>

#include "ir/core/rewrite.hpp"
#include "transform/laid_out/chunks_of_tile.hpp"

namespace tegula::transform {

/// Holds a vector along one axis that is loaded and spread over a tile.
struct SpreadVector {
  ir::Op* broadcast;
  ir::Op* expand;  ///< null: the loaded tile has an axis of one element
  ir::Op* load;    ///< null: the tile that is spread is not loaded for it alone
};

/// Finds the load whose vector a broadcast spreads.
SpreadVector vector_of(ir::Op& broadcast);

/// Holds the vectors that ops computing chunks take.
class ChunkVectors {
 public:
  explicit ChunkVectors(TileChunks const& chunks) : chunks_(chunks) {}

  /// Finds the vectors of at least so many registers that the ops take and nothing else does.
  void find(std::span<ir::Op* const> ops, int registers);
  /// Counts the registers of a thread that hold them.
  [[nodiscard]] int registers() const;
  [[nodiscard]] bool contains(ir::Op const* broadcast) const;
  /// Loads and spreads the chunk of each vector; of those that `user` takes, if it is given.
  void spread(ir::Builder& builder, std::size_t i, ir::ValueMap& map, ir::Op const* user = nullptr) const;
  void erase();

 private:
  [[nodiscard]] bool has_chunks(SpreadVector const& vector, int registers) const;
  ir::Value* spread_one(ir::Builder& builder, SpreadVector const& vector, std::size_t i) const;

  TileChunks const& chunks_;
  std::vector<SpreadVector> vectors_;
};

}  // namespace tegula::transform

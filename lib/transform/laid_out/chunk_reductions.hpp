// Reduces tiles that are computed by chunks. Along the axis that is cut, each chunk is folded in its threads, and one
// reduction of the folds comes behind the last chunk. Along the other axis, each chunk is reduced, and the parts are
// put one behind the other.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <vector>

#include "ir/core/rewrite.hpp"
#include "transform/laid_out/chunks_of_tile.hpp"

namespace tegula::transform {

/// Gives the place of each op in a block.
using PlacesOfOps = std::map<ir::Op const*, int>;

/// Holds reductions of tiles: along the axis that is cut, or along the other one.
class ChunkReductions {
 public:
  ChunkReductions(TileChunks const& chunks, PlacesOfOps const& places) : chunks_(chunks), places_(places) {}

  /// Lists the reductions of such tiles whose results no such tile is computed from.
  [[nodiscard]] std::vector<ir::Op*> possible() const;
  /// Takes some of these.
  void take(std::vector<ir::Op*> reductions);

  /// Combines the elements of a chunk that a thread has with those of the chunks before, or reduces the chunk.
  void combine(ir::Builder& builder, ir::ValueMap const& map);
  /// Reduces what threads have of all chunks, and moves all that follows from it behind the last chunk.
  void finish();

 private:
  [[nodiscard]] std::optional<std::vector<ir::Op*>> late_ops(ir::Op const& reduction) const;
  /// Says what is done for each chunk.
  enum class Way {
    fold,     ///< folded in its threads, and the folds reduced at the end
    combine,  ///< reduced, and combined with the others: warps divide the axis
    append,   ///< reduced, and put behind the others: each chunk has a part of the result to itself
  };

  /// Nothing: it cannot be done.
  [[nodiscard]] std::optional<Way> way_of(ir::Op const& reduction) const;
  [[nodiscard]] std::optional<ir::Type> reduced_type(ir::Op const& reduction) const;
  [[nodiscard]] ir::Type flat(ir::Type const& chunk) const;
  [[nodiscard]] int axis_of_chunk(std::int64_t axis) const;
  [[nodiscard]] ir::Value* part_of(ir::Builder& builder, ir::Op const& reduction, ir::Value* chunk) const;
  [[nodiscard]] ir::Value* appended(ir::Builder& builder, ir::Value* so_far, ir::Value* part) const;
  [[nodiscard]] ir::FoldOp fold_of(ir::ReduceOp const& reduction) const;
  [[nodiscard]] std::optional<ir::Type> folded_type(ir::ReduceOp const& reduction, Element element) const;

  TileChunks const& chunks_;
  PlacesOfOps const& places_;
  std::vector<ir::Op*> reductions_;
  std::vector<ir::Op*> late_;  ///< ops that follow from them, in the order of the text
  std::map<ir::Op const*, ir::Value*> combined_;
};

}  // namespace tegula::transform

// Says which chunks a tile is cut into, and loads chunks of tiles. compute_by_chunks.cpp computes with them.
#pragma once

#include <optional>
#include <vector>

#include "ir/core/builder.hpp"

namespace tegula::transform {

/// Says how a tile is cut into equal chunks along one axis.
struct Cut {
  ir::Type chunk;
  int axis = 0;
  int registers = 0;  ///< of a thread that hold a chunk
};

/// Cuts a tile along its columns if that leaves chunks of so many registers, else along its rows. Nothing: chunks would
/// lie in other threads.
std::optional<Cut> cut_of(ir::Type const& tile, int registers);

/// Describes the chunks of a tile, and of all tiles of its shape and layout in its block.
class TileChunks {
 public:
  explicit TileChunks(ir::Value& tile) : tile_(tile) {}

  /// Takes the chunks of which others extract each; false: there are none. `parted`: the tile with an axis for the
  /// warpgroups that hold parts of its columns, whose chunks are used; null: those of the tile itself.
  bool take_extracts(ir::Op* parted);
  /// Takes equal chunks of so many registers; false: there are none.
  bool take_cut(int registers);
  /// Computes all chunks ahead of that op.
  void compute_before(ir::Op& op);

  [[nodiscard]] ir::Value& tile() const { return tile_; }
  [[nodiscard]] ir::Op* parted() const { return parted_; }
  [[nodiscard]] ir::Block& block() const { return *tile_.defining_op()->parent(); }
  [[nodiscard]] std::vector<ir::Op*> const& extracts() const { return extracts_; }
  [[nodiscard]] std::size_t count() const { return places_.size(); }
  [[nodiscard]] Extents const& place(std::size_t i) const { return places_[i]; }
  [[nodiscard]] ir::Type const& chunk(std::size_t i) const { return chunks_[i]; }
  [[nodiscard]] ir::Type type(Element element, std::size_t i) const {
    return ir::Type::tile(element, chunks_[i].shape(), chunks_[i].layout());
  }
  /// Returns the op ahead of which a chunk is computed.
  [[nodiscard]] ir::Op& point(std::size_t i) const { return *points_[i]; }
  [[nodiscard]] ir::Op& last_point() const { return *points_.back(); }
  /// Tells whether a chunk is computed at the same place as the one before it.
  [[nodiscard]] bool follows(std::size_t i) const { return i != 0 && points_[i] == points_[i - 1]; }

  /// Tells whether a value is a tile of the same shape and layout.
  [[nodiscard]] bool alike(ir::Value const& value) const;
  /// Tells whether an op stores such a tile, whole.
  [[nodiscard]] bool is_stored_whole(ir::Op const& op) const;
  /// Returns the axis of the tile along which alone equal chunks lie; -1: they lie along several ones.
  [[nodiscard]] int only_axis() const;
  /// Tells whether chunks have parts of a tile of that shape, which is spread over the whole tile.
  [[nodiscard]] bool cut(Extents const& spread) const { return !cut_ || spread[cut_->axis] != 1; }
  /// Tells whether loads of chunks, where chunks are computed, give the elements that one load of a whole tile would.
  [[nodiscard]] bool can_be_cut(ir::Op const& load) const;

  /// Counts the columns in front of those of this warp's group, ahead of all chunks. Comes before all loads.
  void find_group();
  /// Loads the chunk of a whole tile that is loaded.
  ir::Value* load(ir::Builder& builder, ir::Op const& load, std::size_t i) const;
  /// Loads the part of a chunk. `axes`: the tile's axis for each axis that is loaded.
  ir::Value* load_part(ir::Builder& builder, ir::Op const& load, std::size_t i, Extents const& axes,
                       ir::Type const& type) const;
  /// Loads the part of a chunk whose columns each warpgroup has apart: each warp those of its own group. `shape`: of
  /// the load, without the axis of the groups.
  ir::Value* load_parted(ir::Builder& builder, ir::Op const& load, std::size_t i, Extents const& shape) const;
  /// Cuts the chunk out of a whole tile that is not computed by chunks.
  ir::Value* part_of(ir::Builder& builder, ir::Value& whole, std::size_t i);

 private:
  ir::Value* with_groups(ir::Value& whole);

  ir::Value& tile_;
  ir::Op* parted_ = nullptr;
  ir::Op const* at_ = nullptr;  ///< where all chunks are loaded; null: between stores of others
  std::optional<Cut> cut_;      ///< of a tile that is not in chunks yet
  std::vector<ir::Op*> extracts_;
  std::vector<Extents> places_;
  std::vector<ir::Type> chunks_;
  std::vector<ir::Op*> points_;                                 ///< each chunk is computed before one of them
  ir::Value* of_group_ = nullptr;                               ///< columns in front of those of this warp's group
  std::vector<std::pair<ir::Value*, ir::Value*>> with_groups_;  ///< whole tiles, and these with the axis of the groups
};

}  // namespace tegula::transform

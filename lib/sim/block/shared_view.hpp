// Describes views of buffers: the byte offset of each element in the CTA's shared memory, or in the buffer's own.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "ir/core/op.hpp"
#include "layout/layout.hpp"
#include "sim/machine/types.hpp"

namespace tegula::sim::block {

/// Maps coordinates to the element offset of a buffer: one table per axis, joined as the layout joins.
class SharedMap {
 public:
  /// Throws UserError when the layout gives some coordinate no offset.
  explicit SharedMap(layout::Layout const& layout);
  [[nodiscard]] int rank() const { return static_cast<int>(tables_.size()); }
  [[nodiscard]] Extents const& shape() const { return shape_; }
  [[nodiscard]] std::uint32_t part(int axis, std::int64_t coordinate) const {
    return tables_[static_cast<std::size_t>(axis)][static_cast<std::size_t>(coordinate)];
  }
  [[nodiscard]] std::uint32_t join(std::uint32_t a, std::uint32_t b) const {
    return ((a ^ b) & low_) + (a & ~low_) + (b & ~low_);
  }

 private:
  std::vector<std::vector<std::uint32_t>> tables_;
  std::uint32_t low_ = 0;
  Extents shape_;
};

/// Describes a buffer, or a box of it with axes dropped or swapped. Coordinates stay those of the buffer, so that every
/// view of a swizzled tile finds its bytes whatever its place in the pattern.
struct View {
  SharedMap const* map = nullptr;
  ir::Op const* global = nullptr;  ///< the buffer in global memory; null: in shared memory
  std::uint32_t base = 0;          ///< byte offset of the buffer
  int element_bytes = 1;
  Extents origin;  ///< in the buffer, one per axis of it
  Extents axes;    ///< for each axis of the view, the axis of the buffer
  Extents shape;   ///< of the view

  /// Returns the box at `offsets` of this view (one per axis); a shape of lower rank takes one element of each leading
  /// axis.
  [[nodiscard]] View box(Extents const& offsets, Extents const& shape) const;
  /// Swaps the last two axes.
  [[nodiscard]] View transposed() const;
  /// Returns the byte offset of the element at coordinates of the view.
  [[nodiscard]] std::uint32_t address(Extents const& at) const;
};

/// Lists the bytes of a view.
struct Region {
  std::vector<std::uint32_t> addresses;       ///< per element, row-major
  std::vector<machine::LaneBytes> intervals;  ///< all bytes, ascending, neighbours joined
};

/// Identifies a region.
struct RegionKey {
  SharedMap const* map;
  std::uint32_t base;
  int element_bytes;  ///< buffers of other elements may have the same place, one after the other
  Extents origin, axes, shape;
  friend bool operator<(RegionKey const& a, RegionKey const& b);
};

/// Owns the regions in use; those of a ring's stages are made once.
class Regions {
 public:
  Region const& get(View const& view);
  /// Returns the part of a region that some rows (values of the view's first axis) hold, for a key that stands for the
  /// rows.
  std::vector<machine::LaneBytes> const& rows(View const& view, std::span<std::int32_t const> rows, void const* key,
                                              int number);
  SharedMap const& map(layout::Layout const& layout);

 private:
  struct RowsKey {
    Region const* region;
    void const* rows;
    int number;
    friend auto operator<=>(RowsKey const&, RowsKey const&) = default;
  };
  std::map<layout::Layout const*, std::unique_ptr<SharedMap>> maps_;
  std::map<RegionKey, std::unique_ptr<Region>> regions_;
  std::map<RowsKey, std::unique_ptr<std::vector<machine::LaneBytes>>> rows_;
};

/// Lists ascending intervals of `size` bytes at each address, neighbours joined.
std::vector<machine::LaneBytes> intervals_of(std::vector<std::uint32_t> addresses, std::uint32_t size);

}  // namespace tegula::sim::block

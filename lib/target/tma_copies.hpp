// Finds the TMA copies that move a shared tile, from its layout, and the rules of tensor maps that a copy breaks.
//
// Boxes are written in the order of the tensor's axes, slowest first (the reverse of the driver's). Each broken rule
// makes one finding with its values; without a finding the copy is legal.
#pragma once

#include <cstdint>
#include <vector>

#include "layout/layout.hpp"
#include "layout/offsets.hpp"
#include "target/finding.hpp"

namespace tegula::target {

/// Describes one copy of a plan: where its box begins in the tile, in the tile's axes, and in memory.
struct TmaCopy {
  Extents origin;
  layout::ByteOffset offset;  ///< from the start of the view
};

/// Lists the copies that fill a view; all with one box, so with one tensor map.
struct TmaPlan {
  int swizzle_bytes = 0;        ///< 128, 64, 32, or 0: none
  Extents axes;                 ///< the tile's axis that each axis of the box runs along
  Extents box;                  ///< in elements
  std::int64_t bytes = 0;       ///< that one copy delivers
  std::int64_t alignment = 16;  ///< that the tile's start needs
  std::vector<TmaCopy> copies;
  std::vector<Finding> broken;  ///< the rules that the plan breaks; the other members are then not set
  [[nodiscard]] bool legal() const { return broken.empty(); }
};

/// Returns the copies of this box that make up the view at `origin` of a tile of this layout, by ascending offset.
/// Axis i of the box runs along axis axes[i] of the view (the last ones in their order when empty; -1: none, extent 1).
TmaPlan tma_copies(Extents const& box, int swizzle_bytes, Extents const& view, layout::Layout const& memory,
                   int element_bytes, Extents const& axes = {}, Extents const& origin = {});

/// Returns the fewest copies for a view of this shape at `origin` (0 when empty) of a tile of this layout. Box extents
/// are at most 256, and one column block wide when the tile is swizzled.
TmaPlan tma_plan(Extents const& view, layout::Layout const& memory, int element_bytes, Extents const& origin = {});

/// Lists the rules that a tensor map with this box breaks.
std::vector<Finding> tma_box_errors(Extents const& box, int swizzle_bytes, int element_bytes);

/// Lists the rules that one copy of this box breaks when it moves all of the view; arguments as for tma_copies.
std::vector<Finding> tma_copy_errors(Extents const& box, int swizzle_bytes, Extents const& view,
                                     layout::Layout const& memory, int element_bytes, Extents const& axes = {},
                                     Extents const& origin = {});

/// States the known facts of the tensor in global memory; an unknown fact breaks the rule.
struct TmaTensor {
  int rank = 2;
  bool unit_inner = false;               ///< the last axis is contiguous
  std::int64_t address_multiple = 1;     ///< bytes that divide the address
  std::int64_t stride_multiple = 1;      ///< bytes that divide every other axis' stride
  std::int64_t coordinate_multiple = 1;  ///< elements that divide the coordinate along the last axis of every copy
};
std::vector<Finding> tma_tensor_errors(TmaTensor const& tensor, int element_bytes);

}  // namespace tegula::target

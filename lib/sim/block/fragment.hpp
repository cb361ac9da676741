// Tabulates the coordinates of the elements of a tile that one warp holds. Each of its 32 lanes has as many elements as
// the layout has registers. Tables are made once per layout and warp. Element `lane * registers + register` of a
// fragment is at index `lane * registers + register` of every table here.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "layout/layout.hpp"
#include "tegula/support/warp.hpp"

namespace tegula::sim::block {

/// Lists the elements of a tile that one warp holds.
struct Fragment {
  layout::Layout const* layout = nullptr;
  int registers = 1;
  int rank = 0;
  Extents shape;                          ///< of the tile
  std::vector<std::int32_t> coordinates;  ///< rank per element
  std::vector<std::int32_t> linear;       ///< row-major index in the tile
  std::vector<std::uint8_t> owner;        ///< 1: this thread and register writes the element
  std::vector<std::int32_t> holder;       ///< by row-major index: an element of the fragment that has it, or -1

  [[nodiscard]] int count() const { return warp_lanes * registers; }
  [[nodiscard]] int lane_of(int element) const { return element / registers; }
  [[nodiscard]] std::int32_t const* at(int element) const {
    return coordinates.data() + static_cast<std::ptrdiff_t>(element) * rank;
  }
};

/// Owns all fragments in use, by layout and warp.
class Fragments {
 public:
  Fragment const& get(layout::Layout const& layout, int warp);

 private:
  std::map<std::pair<layout::Layout const*, int>, std::unique_ptr<Fragment>> fragments_;
};

/// Describes the part of a matrix that one warp's fragment covers. It has distinct rows and columns; each element has a
/// place in the dense block of those.
struct MatrixPart {
  std::vector<std::int32_t> rows;
  std::vector<std::int32_t> columns;
  std::vector<std::int32_t> place;  ///< by element of the fragment: row position * columns + column position
  std::vector<std::int32_t> from;   ///< by place: an element of the fragment, or -1
};
MatrixPart matrix_part(Fragment const& fragment);

}  // namespace tegula::sim::block

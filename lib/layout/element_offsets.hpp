// Computes the offset of each element of a shared tile: the inverse of its layout as one table per axis. For lowering,
// for the simulator, and for every decision that looks at all elements.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "layout/layout.hpp"
#include "layout/offsets.hpp"

namespace tegula::layout {

/// Computes offsets in elements from the start of the tile. The parts of the axes are combined: XOR of `low`, sum of
/// `high`.
class ElementOffsets {
 public:
  struct Part {
    std::int64_t low = 0;   ///< below atom(): may carry a swizzle, so it is XORed
    std::int64_t high = 0;  ///< a multiple of atom(): added
  };

  /// Returns the table of a shared layout, remembered for the process; null with a message when the layout is not one
  /// offset per element.
  static ElementOffsets const* get(Layout const& memory, std::string& why);

  [[nodiscard]] Extents const& shape() const { return shape_; }
  [[nodiscard]] int rank() const { return shape_.size(); }
  [[nodiscard]] std::int64_t atom() const { return atom_; }
  [[nodiscard]] Part part(int axis, std::int64_t coordinate) const {
    return axes_[static_cast<std::size_t>(axis)][static_cast<std::size_t>(coordinate)];
  }
  /// Returns the offset of one element; leading axes that `where` lacks are 0, as in a view of one stage.
  [[nodiscard]] ElementOffset at(Extents const& where) const {
    std::int64_t low = 0, high = 0;
    int const missing = rank() - where.size();
    for (int a = 0; a < where.size(); ++a) {
      Part const p = part(a + missing, where[a]);
      low ^= p.low;
      high += p.high;
    }
    return ElementOffset{low + high};
  }

  /// Counts elements between coordinates i * step and (i + 1) * step of an axis; nothing when that is not the same for
  /// all i.
  [[nodiscard]] std::optional<std::int64_t> stride(int axis, std::int64_t step) const;
  /// True when a view of this shape (leading axes dropped) has the same offsets wherever it begins at a multiple of its
  /// extents. The offset of its element x is that of its first element plus the offset of x. False with the reason, as
  /// for a part of a swizzled row.
  [[nodiscard]] bool movable(Extents const& view, std::string& why) const;

 private:
  Extents shape_;
  std::int64_t atom_ = 1;
  std::vector<std::vector<Part>> axes_;
};

/// False with a message unless a view of that shape fits a tile of this layout.
bool fits(Extents const& view, Layout const& memory, std::string& why);

/// Prints `64x128`, for messages.
std::string shape_text(Extents const& shape);

}  // namespace tegula::layout

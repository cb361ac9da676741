// Divides a kernel's blocks along one axis of their tiles.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "transform/common/axis_classes.hpp"

namespace tegula::transform {

/// Gives each block one of several equal parts of its tiles along a class of axes. The grid has so many times the
/// blocks along its first axis; neighbours have the parts of one block, in order.
///
///   before: grid %n                                after:  grid %n * 2
///           %b = block_index {axis = 0} : i64             %i = block_index {axis = 0} : i64
///           %row = mul %b, 128                            %b = div %i, 2
///           %a = load %A, %row, %k : tile<128x64xbf16>    %first = rem %i, 2 * 64
///                                                         %row = mul %b, 128
///                                                         %a = load %A, %row + %first, %k : tile<64x64xbf16>
///
/// Layouts stay with the threads: a part has the registers of its elements.
class AxisDivision {
 public:
  AxisDivision(ir::Function& function, AxisClasses const& classes, int divided, std::int64_t parts);

  /// Returns the extent of a part.
  [[nodiscard]] std::int64_t extent() const { return extent_; }

  /// Tells whether the tiles, loads and effects can be divided. Not if
  /// - some op needs the extent (AxisClasses), or the parts are not equal,
  /// - the axis is scanned, or is the depth of a product, a tile has it twice, or a table along it,
  /// - a block reads what it may write, other than the box of a store at the same offsets,
  /// - threads hold other elements in one part than in another.
  /// Reductions and effects that do not go along the axis are not looked at: see the lists below.
  [[nodiscard]] bool possible() const;
  /// Lists the reductions along the axis, in order: each part gives the result of its elements alone.
  [[nodiscard]] std::vector<ir::Op*> const& reductions() const { return reductions_; }
  /// Lists the effects that are the same in all parts, in order: they would happen once for each.
  [[nodiscard]] std::vector<ir::Op*> const& effects_of_all() const { return effects_; }

  /// Divides the function. Needs: possible.
  void run(ir::Op& grid);

 private:
  [[nodiscard]] std::optional<int> axis_of(ir::Value const& tile) const;
  [[nodiscard]] bool is_along(ir::Value const& tile, std::int64_t axis) const;
  [[nodiscard]] bool has_parts(ir::Op const& op) const;
  [[nodiscard]] bool joins_parts(ir::Op const& op) const;
  [[nodiscard]] bool divides(ir::Op const& op) const;
  [[nodiscard]] bool whole_part(Extents const& part, ir::Value const& tile) const;
  [[nodiscard]] bool is_updated(ir::Op const& load) const;
  [[nodiscard]] std::optional<ir::Type> part_of(ir::Type const& whole, int axis) const;
  void move(ir::Op& op);
  void move_box(ir::Op& op, Extents& part, ir::Value const& tile);
  [[nodiscard]] bool move_bound(ir::Use const& use, std::int64_t axis) const;
  void move_coordinates(ir::Op& op);

  ir::Function& function_;
  AxisClasses const& classes_;
  int class_;
  std::int64_t parts_, extent_;
  std::unordered_map<ir::Value const*, std::set<int>> axes_;  ///< that are divided, by tile
  std::vector<ir::Op*> reductions_, effects_;
  ir::Value* first_ = nullptr;  ///< of the part's elements along the axis
  std::set<ir::Value const*> done_;
};

}  // namespace tegula::transform

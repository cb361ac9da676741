// Finds the axes of a function's tiles that have one extent together.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "ir/core/op.hpp"

namespace tegula::transform {

/// Parts the axes of all tiles of a function into classes: axes whose extent can only change together. A product's
/// rows, columns and K are three classes; a reduction's operand and result share all axes but one. A class is fixed if
/// some op needs this very extent:
/// - an axis of extent 1 that is inserted, dropped or repeated,
/// - a call,
/// - a change of shape,
/// - a tile with a layout, unless layouts are divided with their tiles.
class AxisClasses {
 public:
  enum class Layouts : std::uint8_t { fixed, divided };
  explicit AxisClasses(ir::Function& function, Layouts layouts = Layouts::fixed);

  /// Returns the number of an axis' class, from 0 to count() - 1.
  [[nodiscard]] int of(ir::Value const& tile, int axis) const;
  [[nodiscard]] int count() const { return static_cast<int>(extents_.size()); }
  [[nodiscard]] std::int64_t extent(int axis_class) const { return extents_[static_cast<std::size_t>(axis_class)]; }
  [[nodiscard]] bool is_fixed(int axis_class) const { return fixed_[static_cast<std::size_t>(axis_class)]; }

 private:
  int node(ir::Value const& tile, int axis);
  int root(int node);
  void join(ir::Value const& a, int a_axis, ir::Value const& b, int b_axis);
  void join_all(ir::Value const& a, ir::Value const& b);
  void fix(ir::Value const& tile, int axis);
  /// Says what is left to do for an op's tiles once its own axes are joined.
  enum class Rule : std::uint8_t { none, joined, fixed };
  Rule join_carried(ir::Op& op);
  Rule join_branches(ir::Op const& op);
  Rule join_reduced(ir::Op const& op);
  Rule join_factors(ir::Op const& op);
  void join_source(ir::Op const& op);
  void join_tiles(ir::Op const& op);
  void fix_tiles(ir::Op const& op);
  void visit(ir::Op& op);

  std::unordered_map<ir::Value const*, int> first_;  ///< node of a tile's axis 0; the others follow
  std::vector<int> parents_;                         ///< by node; then the class
  std::vector<bool> fixed_;                          ///< by node; then by class
  std::vector<std::int64_t> extents_;                ///< the same
};

/// Calls `visit` with each tile that the op takes or makes, arguments of its blocks too.
template <class Visit>
void each_tile(ir::Op const& op, Visit const& visit) {
  auto const one = [&](ir::Value& value) {
    if (value.type().is_tile()) visit(value);
  };
  for (ir::Value* operand : op.operands()) one(*operand);
  for (int i = 0; i < op.result_count(); ++i) one(*op.result(i));
  for (int b = 0; b < op.block_count(); ++b)
    for (int i = 0; i < op.block(b).argument_count(); ++i) one(*op.block(b).argument(i));
}

}  // namespace tegula::transform

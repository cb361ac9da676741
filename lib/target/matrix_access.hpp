// Decides when ldmatrix and stmatrix move a register tile from and to shared memory, and how.
//
// They move 8x8 matrices of 16-bit units, with rows of 16 bytes. Lane 8j + i gives the address of row i of matrix j.
// Register j of lane l holds units 2(l%4) and 2(l%4)+1 of row l/4 of matrix j. With .trans it holds unit l/4 of rows
// 2(l%4) and 2(l%4)+1.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "layout/shared_access.hpp"
#include "tegula/support/element.hpp"

namespace tegula::target {

/// Describes one instruction. Offsets are in elements. The address of a lane combines three parts (XOR of lows, sum of
/// highs):
/// - `first`,
/// - MatrixPlan::lane_bits of the set bits of the lane,
/// - the map's part of the warp.
struct MatrixStep {
  /// Per matrix: the elements that its 32-bit register packs, lowest bits first.
  std::vector<std::vector<int>> registers;
  layout::AccessMap::Part first;
};
struct MatrixPlan {
  bool transposed = false;
  int matrices = 4;  ///< x1, x2, x4
  std::array<layout::AccessMap::Part, 5> lane_bits;
  std::vector<MatrixStep> steps;

  /// Returns the offset of the row that a lane points at.
  [[nodiscard]] std::int64_t row(MatrixStep const& step, int lane, layout::AccessMap::Part warp) const;
};

/// Finds the instructions that move the whole tile, the widest that fit; nothing with the reason when the plain (or
/// .trans) form does not fit. The plain form moves elements of 1, 2 or 4 bytes, .trans 2.
std::optional<MatrixPlan> matrix_plan(layout::AccessMap const& map, int element_bytes, bool transposed,
                                      std::string& why);

/// Counts the wavefronts of a plan in the warp with the highest cost; 8 rows of 16 bytes are one.
layout::BankCost bank_cost(layout::AccessMap const& map, MatrixPlan const& plan, int element_bytes);

/// Plans how a tile in registers moves from or to a view of shared memory.
struct SharedPlan {
  layout::AccessMap map;
  layout::VectorPlan vectors;          ///< always present
  std::optional<MatrixPlan> matrices;  ///< ldmatrix or stmatrix, where vectors are narrower and the layouts have it
};
/// Makes the plan. Nothing with a message when the register tile is not of the view's shape. Of elements that several
/// threads hold, the owner alone stores: no matrices then.
std::optional<SharedPlan> shared_plan(layout::Layout const& registers, layout::Layout const& memory, Element element,
                                      bool stores, std::string& why);
/// Counts the wavefronts of the plan's instructions.
layout::BankCost bank_cost(SharedPlan const& plan, int element_bytes);

}  // namespace tegula::target

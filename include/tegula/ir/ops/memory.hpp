// Defines loads and stores of tiles in global memory.
#pragma once

#include "tegula/ir/fields.hpp"

namespace tegula::ir {

/// Loads the box of the result's shape at element offsets, one i64 per tensor axis:
/// `%t = load %tensor, %i0, %i1 {pad = -inf : f32} : tile<1x64xf32>`. A tile of lower rank takes one element of each
/// leading axis. Elements outside the tensor (negative offsets too) give pad.
///
/// Layout assignment decides `vector` (0: not decided): so many adjacent elements of the last axis may be accessed at
/// once. That axis then has stride 1. The address of each element at a multiple of `vector` from the box's start is a
/// multiple of its bytes. choose-memory-paths writes `by_pointer`: the rule of TMA that this load breaks, if only that
/// keeps it from being a copy.
struct LoadOp : OpDefaults {
  static constexpr std::string_view mnemonic = "load";
  static constexpr auto operands = names("tensor", "offsets");
  static constexpr unsigned traits = variadic;
  static constexpr Effects effects = reads(Space::global, 0);
  Constant pad;
  std::int64_t vector = 0;
  Symbol by_pointer;
  static constexpr auto attributes() {
    return fields(field("pad", &LoadOp::pad), field("vector", &LoadOp::vector, bounds::vector),
                  field("by_pointer", &LoadOp::by_pointer));
  }
};

/// Stores the tile's box at element offsets: `store %tensor, %tile, %i0, %i1`; elements outside the tensor are dropped.
/// `vector` as for load.
struct StoreOp : OpDefaults {
  static constexpr std::string_view mnemonic = "store";
  static constexpr auto operands = names("tensor", "tile", "offsets");
  static constexpr unsigned traits = variadic;
  static constexpr Effects effects = writes(Space::global, 0);
  std::int64_t vector = 0;
  static constexpr auto attributes() { return fields(field("vector", &StoreOp::vector, bounds::vector)); }
};

}  // namespace tegula::ir

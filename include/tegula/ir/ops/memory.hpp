// Tile loads and stores of global memory.
#pragma once

#include "tegula/ir/fields.hpp"

namespace tegula::ir {

/// `%t = load %tensor, %i0, %i1 {pad = -inf : f32} : tile<1x64xf32>`: the box of the result's shape at element offsets,
/// one i64 per tensor axis. A tile of lower rank takes one element of each leading axis. Elements outside the tensor
/// (negative offsets too) give pad.
struct LoadOp : OpDefaults {
  static constexpr std::string_view mnemonic = "load";
  static constexpr auto operands = names("tensor", "offsets");
  static constexpr unsigned traits = variadic;
  static constexpr Effects effects = reads(Space::global, 0);
  Constant pad;
  static constexpr auto attributes() { return fields(field("pad", &LoadOp::pad)); }
};

/// `store %tensor, %tile, %i0, %i1`: writes the tile's box at element offsets; elements outside the tensor are dropped.
struct StoreOp : OpDefaults {
  static constexpr std::string_view mnemonic = "store";
  static constexpr auto operands = names("tensor", "tile", "offsets");
  static constexpr unsigned traits = variadic;
  static constexpr Effects effects = writes(Space::global, 0);
};

}  // namespace tegula::ir

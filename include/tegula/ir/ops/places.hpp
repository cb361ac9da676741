// Defines ops that count elements by their values, and ops that move them to places which tiles hold.
#pragma once

#include "tegula/ir/fields.hpp"

namespace tegula::ir {

/// Counts elements by value: element b of `%c = histogram %t : tile<256xi32>` counts the elements of %t that are b.
/// Elements of i32 or u32 that are not below the number of bins, or negative, are not counted. `scratch` as for reduce.
struct HistogramOp : OpDefaults<Family::reduction> {
  static constexpr std::string_view mnemonic = "histogram";
  static constexpr auto operands = names("tile");
  std::int64_t scratch = -1;
  static constexpr auto attributes() { return fields(field("scratch", &HistogramOp::scratch, bounds::shared_offset)); }
};

/// Numbers equal elements in their order: element e of `%r = ranks %t, %starts : tile<4096xi32>` is element d = %t[e]
/// of %starts, plus the number of elements of %t before e that are d. Both tiles have one axis; %t is of i32 or u32,
/// %starts of i32. Where d is not a place of %starts the result is -1. `scratch` as for reduce.
struct RanksOp : OpDefaults<Family::reduction> {
  static constexpr std::string_view mnemonic = "ranks";
  static constexpr auto operands = names("tile", "starts");
  std::int64_t scratch = -1;
  static constexpr auto attributes() { return fields(field("scratch", &RanksOp::scratch, bounds::shared_offset)); }
};

/// Takes elements at places: element e of `%y = take %t, %places : tile<8x64xf32>` is element %places[e] of %t, a tile
/// of one axis. %places is of i32, in any shape. Outside of %t it is 0. `scratch` as for reduce.
struct TakeOp : OpDefaults<Family::shape> {
  static constexpr std::string_view mnemonic = "take";
  static constexpr auto operands = names("tile", "places");
  std::int64_t scratch = -1;
  static constexpr auto attributes() { return fields(field("scratch", &TakeOp::scratch, bounds::shared_offset)); }
};

/// Puts elements at places: element %places[e] of `%y = put %t, %places : tile<4096xu32>` is element e of %t. All have
/// one axis and one extent. %places, of i32, names each place once; the simulator checks it. `scratch` as for reduce.
struct PutOp : OpDefaults<Family::shape> {
  static constexpr std::string_view mnemonic = "put";
  static constexpr auto operands = names("tile", "places");
  std::int64_t scratch = -1;
  static constexpr auto attributes() { return fields(field("scratch", &PutOp::scratch, bounds::shared_offset)); }
};

}  // namespace tegula::ir

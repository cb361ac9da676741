// Defines reductions and scans along one axis.
#pragma once

#include "tegula/ir/fields.hpp"

namespace tegula::ir {

using namespace std::string_view_literals;

enum class Combine : std::uint8_t { sum, max, min, product };
template <>
inline constexpr std::array enum_names<Combine>{"sum"sv, "max"sv, "min"sv, "product"sv};

/// Chooses how a reduction associates. `any`: one fixed tree per compiled kernel. `pairwise`: the balanced binary tree
/// over ascending coordinates (adjacent pairs first; an odd last one is carried up), the bitwise contract.
enum class Order : std::uint8_t { any, pairwise };
template <>
inline constexpr std::array enum_names<Order>{"any"sv, "pairwise"sv};

/// Reduces along an axis, which stays with extent 1: `%r = reduce %x {axis = 1, combine = sum} : tile<128x1xf32>`. Sums
/// and products of f16 and bf16 are computed in f32 and rounded once. max and min follow MaxOp and MinOp. `power_bits`:
/// the tile is exp(x - max(x)) in so many bits and only its share of the sum counts, so parts of the axis may subtract
/// maxima of their own (relax-arithmetic; 0: none of this is known). `scratch`: byte offset of the shared memory
/// through which warps exchange, decided by shared-memory allocation (-1: not decided, or none needed).
struct ReduceOp : OpDefaults<Family::reduction> {
  static constexpr std::string_view mnemonic = "reduce";
  static constexpr auto operands = names("tile");
  static constexpr unsigned traits = via_f32;
  std::int64_t axis = 0;
  Combine combine = Combine::sum;
  Order order = Order::any;
  std::int64_t power_bits = 0;
  std::int64_t scratch = -1;
  static constexpr auto attributes() {
    return fields(field("axis", &ReduceOp::axis, bounds::axis), field("combine", &ReduceOp::combine),
                  field("order", &ReduceOp::order), field("power_bits", &ReduceOp::power_bits, Bounds{0, 24}),
                  field("scratch", &ReduceOp::scratch, bounds::shared_offset));
  }
};

/// Combines each element with all before it along an axis: `%r = scan %x {axis = 1, combine = sum} : tile<4x64xf32>`.
/// - `exclusive`: without the element itself, from a start: 0, 1, the lowest (max) or the highest value (min);
/// - `reverse`: with the elements behind it in place of those before it.
/// The order of association is one fixed tree per compiled kernel, and sequential on the host and in the simulator. f16
/// and bf16 are combined in f32, and each result is rounded once. max, min and `scratch` are those of ReduceOp.
struct ScanOp : OpDefaults<Family::reduction> {
  static constexpr std::string_view mnemonic = "scan";
  static constexpr auto operands = names("tile");
  static constexpr unsigned traits = one_layout | via_f32;
  std::int64_t axis = 0;
  Combine combine = Combine::sum;
  bool exclusive = false;
  bool reverse = false;
  std::int64_t scratch = -1;
  static constexpr auto attributes() {
    return fields(field("axis", &ScanOp::axis, bounds::axis), field("combine", &ScanOp::combine),
                  field("exclusive", &ScanOp::exclusive), field("reverse", &ScanOp::reverse),
                  field("scratch", &ScanOp::scratch, bounds::shared_offset));
  }
};

}  // namespace tegula::ir

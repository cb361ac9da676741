// Defines reductions along one axis.
#pragma once

#include "tegula/ir/fields.hpp"

namespace tegula::ir {

using namespace std::string_view_literals;

enum class Combine : std::uint8_t { sum, max, min };
template <>
inline constexpr std::array enum_names<Combine>{"sum"sv, "max"sv, "min"sv};

/// Chooses how a reduction associates. `any`: one fixed tree per compiled kernel. `pairwise`: the balanced binary tree
/// over ascending coordinates (adjacent pairs first; an odd last one is carried up), the bitwise contract.
enum class Order : std::uint8_t { any, pairwise };
template <>
inline constexpr std::array enum_names<Order>{"any"sv, "pairwise"sv};

/// Reduces along an axis, which stays with extent 1: `%r = reduce %x {axis = 1, combine = sum} : tile<128x1xf32>`. Sums
/// of f16 and bf16 are computed in f32 and rounded once. max and min follow MaxOp and MinOp. `scratch`: byte offset of
/// the shared memory through which warps exchange, decided by shared-memory allocation (-1: not decided, or none
/// needed).
struct ReduceOp : OpDefaults {
  static constexpr std::string_view mnemonic = "reduce";
  static constexpr auto operands = names("tile");
  std::int64_t axis = 0;
  Combine combine = Combine::sum;
  Order order = Order::any;
  std::int64_t scratch = -1;
  static constexpr auto attributes() {
    return fields(field("axis", &ReduceOp::axis, bounds::axis), field("combine", &ReduceOp::combine),
                  field("order", &ReduceOp::order), field("scratch", &ReduceOp::scratch, bounds::shared_offset));
  }
};

}  // namespace tegula::ir

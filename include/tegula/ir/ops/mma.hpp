// Defines matrix products: of tiles, and the tensor cores' own.
#pragma once

#include "tegula/ir/ops/barrier.hpp"

namespace tegula::ir {

/// Says how much of its operands a product uses: everything, or of f32 at least the 10 upper bits of the fraction
/// (tf32). tf32x3 makes up a product of three of them (expand-dots).
enum class DotPrecision : std::uint8_t { full, tf32, tf32x3 };
template <>
inline constexpr std::array enum_names<DotPrecision>{"full"sv, "tf32"sv, "tf32x3"sv};

/// Says which instructions multiply: those of warpgroups (wgmma), of warps (mma.sync), or of lanes.
enum class ProductPath : std::uint8_t { open, wgmma, mma, lanes };
template <>
inline constexpr std::array enum_names<ProductPath>{"open"sv, "wgmma"sv, "mma"sv, "lanes"sv};

/// Says where a product reads an operand: where it was copied in shared memory, from registers, or from a buffer to
/// which the warps store it before.
enum class OperandPlace : std::uint8_t { open, copied, registers, stored };
template <>
inline constexpr std::array enum_names<OperandPlace>{"open"sv, "copied"sv, "registers"sv, "stored"sv};

/// Says when a product of a loop starts: where it is written, as early as its factors are known, or as early as those
/// of all products are that wait for as many others before them.
enum class ProductStart : std::uint8_t { written, early, together };
template <>
inline constexpr std::array enum_names<ProductStart>{"written"sv, "early"sv, "together"sv};

/// Computes acc + a * b with a (M, K), b (K, N): `%d = dot %a, %b, %acc {precision = tf32} : tile<MxNxf32>`. Elements
/// of a and b agree; e4m3 goes with e5m2 too, and i8 with u8. The accumulator is i32, which wraps, for i8 and u8, f64
/// for f64, and f32 for the other floats. Products and sums are computed at least in the accumulator's precision, in an
/// order that each target chooses once per kernel; fused multiply-add is allowed. Sums of e4m3 and e5m2 on tensor cores
/// keep fewer bits than an f32 (at least 14 of a fraction) within one product. Those of different products are added in
/// f32. plan-kernel decides `path`, the `place` of each operand, `warps` (how many divide the rows and how many the
/// columns), `step` (elements of K that are read at a time; 0: all), and `why`: what keeps the product from wgmma.
/// Later passes carry out and strike `swapped` (its transpose is computed from transposed factors), `start` (when it is
/// issued) and `late` (it runs beside the first product of the next iteration).
struct DotOp : OpDefaults<Family::product, on_host | on_tile_simulator> {
  static constexpr std::string_view mnemonic = "dot";
  static constexpr auto operands = names("lhs", "rhs", "accumulator");
  static constexpr std::string_view replaced_by = "schedule-dots";
  DotPrecision precision = DotPrecision::full;
  ProductPath path = ProductPath::open;
  OperandPlace left = OperandPlace::open;
  OperandPlace right = OperandPlace::open;
  Extents warps;
  std::int64_t step = 0;
  Symbol why;
  bool swapped = false;
  ProductStart start = ProductStart::written;
  bool late = false;
  static constexpr auto attributes() {
    return fields(field("precision", &DotOp::precision), field("path", &DotOp::path), field("left", &DotOp::left),
                  field("right", &DotOp::right), field("warps", &DotOp::warps, {1, 32}),
                  field("step", &DotOp::step, {0, max_tile_elements}), field("why", &DotOp::why),
                  field("swapped", &DotOp::swapped), field("start", &DotOp::start), field("late", &DotOp::late));
  }
};

/// Issues acc + a * b over all of K, one instruction per 32 bytes of K:
/// `%d = wgmma %a, %b, %acc, %accumulate : pending<64x256xf32, wgmma>`. %a (M, K) is a view of shared memory or a tile
/// in the layout wgmma_a; %b (K, N) a view. Without %acc, or where the bool %accumulate is false, the result is a * b.
/// %acc may be pending from a product of the same shape. The executing threads are whole warpgroups and the layouts
/// name their warps. A product of f32 uses them as tf32, truncated.
struct WgmmaOp : OpDefaults<Family::product, on_warps> {
  static constexpr std::string_view mnemonic = "wgmma";
  static constexpr auto operands = names("lhs", "rhs", "accumulator");
  static constexpr unsigned traits = collective | unique | variadic;
  static constexpr Effects effects =
      (reads(Space::shared, 0, Proxy::async).by(Sharing::rows) | reads(Space::shared, 1, Proxy::async))
          .completed_by(Completion::wgmma);
};

/// Orders earlier accesses to registers before the next wgmma: `%x, %y = wgmma_fence %a, %b : types` (wgmma.fence). The
/// operands, tiles or pending ones, come out unchanged, so that their uses stay after the fence. A tile may come out as
/// pending: a value for loops that carry the accumulator of their products.
struct WgmmaFenceOp : OpDefaults<Family::synchronisation, on_warps> {
  static constexpr std::string_view mnemonic = "wgmma_fence";
  static constexpr auto operands = names("values");
  static constexpr unsigned traits = collective | variadic;
  Purpose purpose = Purpose::order;  ///< schedule: another fence stands before the next product anyway
  static constexpr auto attributes() { return fields(field("purpose", &WgmmaFenceOp::purpose)); }
};

/// Closes each executing warp's group of wgmmas: `wgmma_commit`; an empty group counts.
struct WgmmaCommitOp : OpDefaults<Family::synchronisation, on_warps> {
  static constexpr std::string_view mnemonic = "wgmma_commit";
  static constexpr auto operands = names();
  static constexpr unsigned traits = collective;
};

/// Waits until at most so many of each warp's youngest groups are open:
/// `%s, %p1 = wgmma_wait %s0, %p0 {pending = 1} : types`. Pending operands come out as tiles, if their group is among
/// the completed ones. Tiles (register operands of the products waited for) come out unchanged, so that they live until
/// here.
struct WgmmaWaitOp : OpDefaults<Family::synchronisation, on_warps> {
  static constexpr std::string_view mnemonic = "wgmma_wait";
  static constexpr auto operands = names("values");
  static constexpr unsigned traits = collective | variadic;
  std::int64_t pending = 0;
  static constexpr auto attributes() { return fields(field("pending", &WgmmaWaitOp::pending, bounds::pending_groups)); }
};

/// Computes acc + a * b on registers, warp by warp (mma.sync): `%d = mma %a, %b, %acc : tile<64x64xf32, mma>`. %a in
/// the layout mma_a, %b in mma_b of the same arrangement of warps. `by_warps`: the reason, for messages, that a dot
/// became mma and not wgmma.
struct MmaOp : OpDefaults<Family::product, on_warps> {
  static constexpr std::string_view mnemonic = "mma";
  static constexpr auto operands = names("lhs", "rhs", "accumulator");
  static constexpr unsigned traits = collective;
  Symbol by_warps;
  static constexpr auto attributes() { return fields(field("by_warps", &MmaOp::by_warps)); }
};

}  // namespace tegula::ir

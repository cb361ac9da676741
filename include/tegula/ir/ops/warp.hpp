// Defines partitions of warps, elected lanes, and exchange within a warp. In block IR a scalar is the same in all lanes
// of a warp; in an elected region there is one lane. Warps may differ.
#pragma once

#include "tegula/ir/ops/control.hpp"
#include "tegula/ir/ops/reduce.hpp"

namespace tegula::ir {

/// Splits the warps of a CTA into partitions:
/// `warp_specialize {warps = [4, 4], replicas = [1, 2], registers = [40, 232]} (%p: i64) {...} and (%g: i64) {...}`.
/// It has one block per partition, each run by its own warps, in order of warp numbers. A partition is `replicas`
/// groups of `warps` warps. Each group runs the block by itself with its number as the argument; tiles in it are
/// distributed over the warps of one group. `registers` per thread (setmaxnreg; 0: unchanged): the first thing a
/// partition does. Groups with register counts are whole warpgroups. In the outermost block of a kernel, whose warps it
/// uses up. Ops after it run in all warps as each comes out of its block. No results.
struct WarpSpecializeOp : OpDefaults<Family::control, on_warps> {
  static constexpr std::string_view mnemonic = "warp_specialize";
  static constexpr auto operands = names();
  static constexpr unsigned traits = has_regions;
  Extents warps;
  Extents replicas;
  Extents registers;
  static constexpr auto attributes() {
    return fields(field("warps", &WarpSpecializeOp::warps, {1, 32}),
                  field("replicas", &WarpSpecializeOp::replicas, {1, 32}),
                  field("registers", &WarpSpecializeOp::registers, {0, 256}));
  }
};

/// Names the role of an elected region. `producer` regions fill stages of rings, and warp specialisation gives them
/// their own warps. `consumer` regions release stages that their warp has read.
enum class Role : std::uint8_t { none, producer, consumer };
template <>
inline constexpr std::array enum_names<Role>{"none"sv, "producer"sv, "consumer"sv};

/// Elects one lane to run the block: in `elect {warp = 0} { ... yield }` of warp `warp` of the executing group, or (-1)
/// of each of its warps, or (-4) of the first warp of each warpgroup. The other lanes pass by; nothing is synchronised
/// at the end. No collective ops inside, no results. circular-buffer numbers rings from 1: `ring` is the one whose
/// stage a producer fills or a consumer releases. `stages` of a producer counts the ring's stages. `lag` of a consumer
/// counts iterations from the stage's fill to its release.
struct ElectOp : OpDefaults<Family::control, on_host | on_warps> {
  static constexpr std::string_view mnemonic = "elect";
  static constexpr auto operands = names();
  static constexpr unsigned traits = has_regions;
  static constexpr std::int64_t each_warp = -1, each_warpgroup = -4;
  std::int64_t warp = 0;
  Role role = Role::none;
  LoopRegion region = LoopRegion::none;
  std::int64_t ring = 0;
  std::int64_t stages = 0;
  std::int64_t lag = 0;
  static constexpr auto attributes() {
    return fields(field("warp", &ElectOp::warp, {each_warpgroup, 31}), field("role", &ElectOp::role),
                  field("region", &ElectOp::region), field("ring", &ElectOp::ring, {0, 1 << 20}),
                  field("stages", &ElectOp::stages, {0, 1 << 20}), field("lag", &ElectOp::lag, {0, 1}));
  }
};

/// Fills a stage of ring `ring`, which has `stages` of them, with all executing threads: `fill {ring = 1, stages = 4} {
/// ... yield }`. They run the block once; nothing is synchronised. circular-buffer makes it for rings into which
/// threads copy rows, and specialize-warps gives it to warps of their own. Without `ring` it has its place.
struct FillOp : OpDefaults<Family::control, on_warps> {
  static constexpr std::string_view mnemonic = "fill";
  static constexpr auto operands = names();
  static constexpr unsigned traits = has_regions;
  LoopRegion region = LoopRegion::none;
  std::int64_t ring = 0;
  std::int64_t stages = 0;
  static constexpr auto attributes() {
    return fields(field("region", &FillOp::region), field("ring", &FillOp::ring, {0, 1 << 20}),
                  field("stages", &FillOp::stages, {0, 1 << 20}));
  }
};

/// Returns the number of this warp in the executing group: `%w = warp_index : i64`.
struct WarpIndexOp : OpDefaults<Family::symbolic, on_warps> {
  static constexpr std::string_view mnemonic = "warp_index";
  static constexpr auto operands = names();
  static constexpr unsigned traits = per_warp;
  static constexpr Bounds number = {0, 31};
};

/// Returns the number of this CTA in its cluster: `%r = cluster_rank : i64`.
struct ClusterRankOp : OpDefaults<Family::symbolic, on_warps> {
  static constexpr std::string_view mnemonic = "cluster_rank";
  static constexpr auto operands = names();
};

enum class Vote : std::uint8_t { any, all };
template <>
inline constexpr std::array enum_names<Vote>{"any"sv, "all"sv};

/// Votes: `%b = vote %t {kind = any} : bool` is true if any (all) of the booleans of the tile that this warp holds are
/// true. The result differs from warp to warp.
struct VoteOp : OpDefaults<Family::reduction, on_warps> {
  static constexpr std::string_view mnemonic = "vote";
  static constexpr auto operands = names("tile");
  static constexpr unsigned traits = collective | per_warp;
  Vote kind = Vote::any;
  static constexpr auto attributes() { return fields(field("kind", &VoteOp::kind)); }
};

/// Exchanges registers: in `%y = shuffle %x {mask = 1} : tile<...>` each lane takes the registers of the lane whose
/// number differs by mask.
struct ShuffleOp : OpDefaults<Family::shape, on_warps> {
  static constexpr std::string_view mnemonic = "shuffle";
  static constexpr auto operands = names("tile");
  static constexpr unsigned traits = collective;
  std::int64_t mask = 1;
  static constexpr auto attributes() { return fields(field("mask", &ShuffleOp::mask, {1, 31})); }
};

/// Combines the elements that each thread holds along the axis in its own registers:
/// `%r = fold %x {axis = 1, combine = max} : tile<64x4xf32, LAYOUT>`. It leaves one element per thread that shared the
/// axis. The result's coordinate along the axis is the number that the lane bits (lowest first) which move along the
/// axis form. A reduce of the result is the reduce of %x; lanes do not exchange anything here. Tiles that move along
/// the axis over warps are refused.
struct FoldOp : OpDefaults<Family::reduction, on_warps> {
  static constexpr std::string_view mnemonic = "fold";
  static constexpr auto operands = names("tile");
  std::int64_t axis = 0;
  Combine combine = Combine::sum;
  static constexpr auto attributes() {
    return fields(field("axis", &FoldOp::axis, bounds::axis), field("combine", &FoldOp::combine));
  }
};

enum class AtomicKind : std::uint8_t { add, min, max, exchange, increment };
template <>
inline constexpr std::array enum_names<AtomicKind>{"add"sv, "min"sv, "max"sv, "exchange"sv, "increment"sv};

/// Combines one element of global memory with a scalar: `%old = atomic %tensor, %value, %o0 {kind = add} : i32` gives
/// the old value. `increment` adds 1, and starts again at 0 after %value (atom.inc). Relaxed, device scope. One lane.
struct AtomicOp : OpDefaults<Family::memory, on_warps> {
  static constexpr std::string_view mnemonic = "atomic";
  static constexpr auto operands = names("tensor", "value", "offsets");
  static constexpr unsigned traits = unique | variadic | per_warp;
  static constexpr Effects effects = updates(Space::global, 0);
  AtomicKind kind = AtomicKind::add;
  static constexpr auto attributes() { return fields(field("kind", &AtomicOp::kind)); }
};

}  // namespace tegula::ir

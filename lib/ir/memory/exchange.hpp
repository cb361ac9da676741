// Plans how threads of a CTA exchange elements for a reduction, a scan or a layout conversion. A plan has the steps, in
// order, and the shared memory they need. Passes allocate by it and code generation follows it, so both read it from
// here.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "layout/layout.hpp"
#include "layout/shared_access.hpp"
#include "ir/core/op.hpp"

namespace tegula::ir {

/// Describes one step of a reduction. Before the first, a thread has one partial result per distinct register
/// coordinate.
struct ReductionStep {
  enum class Kind : std::uint8_t {
    /// Combines the partial results of a thread whose coordinates along the axis differ by the bit `stride`.
    pairs,
    tree,       ///< combines all that a thread still has along the axis: the balanced tree over ascending coordinates
    butterfly,  ///< combines with the lane that differs by `mask`
    exchange,   ///< combines the warps that differ by `warp_bits` and digits, through shared memory: the same tree
  };
  Kind kind = Kind::tree;
  std::int64_t stride = 0;
  std::uint32_t mask = 0;
  std::vector<int> warp_bits;  ///< in ascending order of coordinate
  bool warp_digits = false;    ///< the warp digits along the axis take part, above the bits
  std::int64_t warps = 1;      ///< number of warps that are combined
  std::int64_t partials = 1;   ///< exchange: partial results that a thread still has per result element
};

/// Returns the steps of a reduction along `axis` of a tile with this layout. Order::any keeps to few shuffles;
/// Order::pairwise follows the bits of the coordinate. Null, so convert to a blocked layout first, when
/// - a thread index moves along the axis and another one at once,
/// - for pairwise, a bit of the coordinate is spread over several indices,
/// - for pairwise, warps move along the axis faster than lanes.
std::optional<std::vector<ReductionStep>> reduction_steps(layout::Layout const& layout, int axis, Order order);

/// Tells whether a reduction of a tile with this layout ends with an exchange through shared memory. Its result may
/// have any layout then: each thread reads the elements that it holds.
bool exchanges_last(Op const& reduction, layout::Layout const& layout);

/// Tells whether warps exchange once for a reduction.
bool exchanges_once(Op const& reduction);
/// Tells whether an op computes from registers of its thread alone, and from shuffles.
bool stays_in_thread(Op const& op);

/// Lists the ops whose exchanges share one barrier with that of an op, itself among them, in order: all write, the last
/// one has the barrier, and all read after it. A reduction for which warps exchange once leaves its barrier to the next
/// one if nothing needs its result before, and no op between them relies on the barrier. Other ops share with none.
std::vector<Op const*> sharing_barrier(Op const& op);

/// Returns the steps of a scan: those of Order::pairwise, which join neighbours. Each step gives a thread the total of
/// the elements ahead of its own, which it combines with them.
inline std::optional<std::vector<ReductionStep>> scan_steps(layout::Layout const& layout, int axis) {
  return reduction_steps(layout, axis, Order::pairwise);
}

/// Returns the element in which a reduction adds up: f32 for f16 and bf16, else the tile's own.
constexpr Element accumulator_of(Element element) {
  return element == Element::f16 || element == Element::bf16 ? Element::f32 : element;
}

/// Returns the layout in which warps rank the elements of a tile: each of them a run of it, 32 elements at a time.
inline layout::Layout const* ranked_layout(layout::Layout const& layout) {
  return layout::Layout::runs(layout.shape()[0], layout.warps());
}

/// Holds the strides, in elements, of a tile in the scratch of an op.
struct ScratchTile {
  Extents strides;
  std::int64_t elements = 0;
};
/// Says where an op writes its operand's elements in its scratch, and reads its result's.
struct ScratchTiles {
  ScratchTile written, read;
  std::int64_t first = 0;  ///< element of the scratch that is the result's first
};
/// Returns the tiles, as rows, of a shape op that uses its scratch. Strides of `read` are by axis of the result.
ScratchTiles scratch_tiles(Op const& op);
/// Counts the elements of one access to a tile in rows whose result begins at element `first`: at most 16 bytes.
int scratch_width(layout::Layout const& layout, ScratchTile const& tile, std::int64_t first, Element element);
/// Returns the layout of a conversion's scratch if it has fewer bank conflicts than rows; null: rows.
layout::Layout const* scratch_memory(Op const& op);

/// Describes the accesses of one side of an exchange, of the warp with the highest cost.
struct ScratchAccess {
  int bytes = 0;  ///< that a thread moves with one instruction
  layout::BankCost cost;
};
struct ScratchAccesses {
  ScratchAccess written, read;
};
/// Describes how a shape op goes through its scratch.
ScratchAccesses scratch_accesses(Op const& op);

/// Finds, for each register of a shape op's result, the operand's register that has its element in the same thread.
/// Empty: the op exchanges elements between threads. Needs one operand, a tile.
std::vector<int> kept_registers(Op const& op);

/// Describes an exchange of neighbours within warps: result register i is operand register registers[i] of the lane
/// that differs by `mask`.
struct Butterfly {
  std::vector<int> registers;
  std::uint32_t mask = 0;
};
/// Returns the plan of a shape op that exchanges neighbours; null for others, and if warps exchange them.
std::optional<Butterfly> butterfly(Op const& op);

/// Returns the bytes of a buffer in shared memory: of a shared type that names its layout's tile, or of mbarriers.
std::int64_t buffer_bytes(Type const& type);
/// Returns the bytes of shared memory that an op's exchange needs; 0 for other ops and for exchanges within warps.
/// Needs layouts.
std::int64_t scratch_bytes(Op const& op);
/// Returns the `scratch` attribute of an op that has one, else null.
std::int64_t* scratch_attribute(Op& op);
std::int64_t const* scratch_attribute(Op const& op);

}  // namespace tegula::ir

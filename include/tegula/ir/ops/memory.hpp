// Defines accesses of tiles to global memory: boxes, and elements at indices that tiles hold.
#pragma once

#include "tegula/ir/fields.hpp"

namespace tegula::ir {

using namespace std::string_view_literals;

/// Loads the box of the result's shape at element offsets, one i64 per tensor axis:
/// `%t = load %tensor, %i0, %i1 {pad = -inf : f32} : tile<1x64xf32>`. A tile of lower rank takes one element of each
/// leading axis, and a scalar result is one element. Elements outside the tensor (negative offsets too) give pad.
///
/// Layout assignment decides `vector` (0: not decided): so many adjacent elements of the last axis may be accessed at
/// once. That axis then has stride 1. The address of each element at a multiple of `vector` from the box's start is a
/// multiple of its bytes. choose-memory-paths writes `by_pointer`: the one rule of TMA that keeps this load from being
/// a copy. `part`: the extents of the part of the box that is accessed, from its start; elements behind it give pad.
/// Empty: the whole box. `stated_pad`: the kernel states that pad is 0, so checks of bounds let it lie anywhere, as
/// they do with any other pad. prove-offsets writes `nonnegative`: the axes of the tensor along which the box never
/// begins before element 0.
struct LoadOp : OpDefaults<Family::memory> {
  static constexpr std::string_view mnemonic = "load";
  static constexpr auto operands = names("tensor", "offsets");
  static constexpr unsigned traits = variadic;
  static constexpr Effects effects = reads(Space::global, 0);
  Constant pad;
  std::int64_t vector = 0;
  Symbol by_pointer;
  Extents part;
  bool stated_pad = false;
  Extents nonnegative;
  static constexpr auto attributes() {
    return fields(field("pad", &LoadOp::pad), field("vector", &LoadOp::vector, bounds::vector),
                  field("by_pointer", &LoadOp::by_pointer), field("part", &LoadOp::part, {1, max_tile_elements}),
                  field("stated_pad", &LoadOp::stated_pad), field("nonnegative", &LoadOp::nonnegative, bounds::axis));
  }
};

/// Stores the tile's box at element offsets: `store %tensor, %tile, %i0, %i1`; elements outside the tensor are dropped.
/// `vector`, `part` and `nonnegative` as for load. `may_miss`: all elements may be outside; checks of bounds and NaN do
/// not report that.
struct StoreOp : OpDefaults<Family::memory> {
  static constexpr std::string_view mnemonic = "store";
  static constexpr auto operands = names("tensor", "tile", "offsets");
  static constexpr unsigned traits = variadic;
  static constexpr Effects effects = writes(Space::global, 0);
  std::int64_t vector = 0;
  Extents part;
  bool may_miss = false;
  Extents nonnegative;
  static constexpr auto attributes() {
    return fields(field("vector", &StoreOp::vector, bounds::vector),
                  field("part", &StoreOp::part, {1, max_tile_elements}), field("may_miss", &StoreOp::may_miss),
                  field("nonnegative", &StoreOp::nonnegative, bounds::axis));
  }
};

/// Gathers elements: `%t = gather %tensor, %i0, %i1 {pad = 0 : f32} : tile<64x8xf32>`. Element e of the result is the
/// tensor's element at (i0[e], i1[e]). There is one index per axis of the tensor: an i32 or i64 tile of the result's
/// shape, or an i64 scalar. Places outside the tensor give pad. `vector` as for load.
struct GatherOp : OpDefaults<Family::memory> {
  static constexpr std::string_view mnemonic = "gather";
  static constexpr auto operands = names("tensor", "indices");
  static constexpr unsigned traits = variadic | one_layout;
  static constexpr Effects effects = reads(Space::global, 0);
  Constant pad;
  std::int64_t vector = 0;
  static constexpr auto attributes() {
    return fields(field("pad", &GatherOp::pad), field("vector", &GatherOp::vector, bounds::vector));
  }
};

/// Scatters elements: `scatter %tensor, %tile, %i0, %i1`, with indices as for gather. Places outside the tensor are
/// dropped. Of several elements that go to one place, one stays. `vector` as for load.
struct ScatterOp : OpDefaults<Family::memory> {
  static constexpr std::string_view mnemonic = "scatter";
  static constexpr auto operands = names("tensor", "tile", "indices");
  static constexpr unsigned traits = variadic | one_layout;
  static constexpr Effects effects = writes(Space::global, 0);
  std::int64_t vector = 0;
  static constexpr auto attributes() { return fields(field("vector", &ScatterOp::vector, bounds::vector)); }
};

/// States what an atomic orders besides its own element. A release makes earlier accesses of its CTA visible to an
/// acquire that reads from it. Such an acquire is of the same element, and sees its value or a later one.
enum class MemoryOrder : std::uint8_t { relaxed, acquire, release, acq_rel };
template <>
inline constexpr std::array enum_names<MemoryOrder>{"relaxed"sv, "acquire"sv, "release"sv, "acq_rel"sv};
constexpr bool acquires(MemoryOrder order) { return order == MemoryOrder::acquire || order == MemoryOrder::acq_rel; }
constexpr bool releases(MemoryOrder order) { return order == MemoryOrder::release || order == MemoryOrder::acq_rel; }

/// Names the threads for which an atomic is one step: those of its CTA, of its device, or of all devices and the host.
enum class AtomicScope : std::uint8_t { block, device, system };
template <>
inline constexpr std::array enum_names<AtomicScope>{"block"sv, "device"sv, "system"sv};

enum class AtomicCombine : std::uint8_t { add, min, max, bit_and, bit_or, bit_xor, exchange };
template <>
inline constexpr std::array enum_names<AtomicCombine>{"add"sv, "min"sv, "max"sv,     "and"sv,
                                                      "or"sv,  "xor"sv, "exchange"sv};

/// Combines elements of global memory atomically with those of a tile, or one with a scalar, once in a CTA:
/// `%old = atomic_update %tensor, %tile, %i0, %i1 {combine = add} : tile<64x8xi32>`. Indices are as for gather. It
/// returns the old elements, and 0 at places outside the tensor, where nothing happens. With layouts, only the owner of
/// an element holds its result. An order other than relaxed is that of the CTA: no access of it to memory that a kernel
/// writes moves past the op. `vector` as for load, of sums. `box`: the indices are those of a box, of which a part may
/// be outside.
struct AtomicUpdateOp : OpDefaults<Family::memory> {
  static constexpr std::string_view mnemonic = "atomic_update";
  static constexpr auto operands = names("tensor", "tile", "indices");
  static constexpr unsigned traits = variadic | unique | one_layout;
  static constexpr Effects effects = updates(Space::global, 0);
  AtomicCombine combine = AtomicCombine::add;
  MemoryOrder order = MemoryOrder::relaxed;
  AtomicScope scope = AtomicScope::device;
  std::int64_t vector = 0;
  bool box = false;
  static constexpr auto attributes() {
    return fields(field("combine", &AtomicUpdateOp::combine), field("order", &AtomicUpdateOp::order),
                  field("scope", &AtomicUpdateOp::scope), field("vector", &AtomicUpdateOp::vector, bounds::vector),
                  field("box", &AtomicUpdateOp::box));
  }
};

/// Replaces elements that equal the expected ones, atomically:
/// `%old = compare_exchange %tensor, %expected, %tile, %i0 : tile<64xi32>`. Bits are compared. The rest as for
/// atomic_update.
struct CompareExchangeOp : OpDefaults<Family::memory> {
  static constexpr std::string_view mnemonic = "compare_exchange";
  static constexpr auto operands = names("tensor", "expected", "tile", "indices");
  static constexpr unsigned traits = variadic | unique | one_layout;
  static constexpr Effects effects = updates(Space::global, 0);
  MemoryOrder order = MemoryOrder::relaxed;
  AtomicScope scope = AtomicScope::device;
  static constexpr auto attributes() {
    return fields(field("order", &CompareExchangeOp::order), field("scope", &CompareExchangeOp::scope));
  }
};

/// Returns the elements `begin` to `end` - 1 of one axis of a tensor: `%s = slice %t, %begin, %end {axis = 0} :
/// tensor<?x?xbf16>`. It is a tensor over the same memory, which counts from `begin` on: other elements lie outside of
/// it. Numbers are clipped to the tensor: `begin` to 0 .. extent, `end` to begin .. extent.
struct SliceOp : OpDefaults<Family::symbolic> {
  static constexpr std::string_view mnemonic = "slice";
  static constexpr auto operands = names("tensor", "begin", "end");
  std::int64_t axis = 0;
  static constexpr auto attributes() { return fields(field("axis", &SliceOp::axis, bounds::axis)); }
};

/// Returns a tensor over the same memory whose axis i is axis permutation[i] of the operand:
/// `%p = permute %t {permutation = [1, 0, 2]} : tensor<?x?x?xbf16>`. The last axis stays the last. fold-boxes makes it
/// of boxes with axes of extent 1: a box of (token, head, dimension) is one of (head, token, dimension).
struct PermuteOp : OpDefaults<Family::symbolic> {
  static constexpr std::string_view mnemonic = "permute";
  static constexpr auto operands = names("tensor");
  Extents permutation;
  static constexpr auto attributes() { return fields(field("permutation", &PermuteOp::permutation, bounds::axis)); }
};

}  // namespace tegula::ir

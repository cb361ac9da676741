// Defines ops that make tiles of scalars or move elements between shapes and layouts without arithmetic.
#pragma once

#include "tegula/ir/fields.hpp"
#include "tegula/ir/source.hpp"

namespace tegula::ir {

/// Returns a tile with a scalar in every element: `%t = splat %s : tile<128xf32>`.
struct SplatOp : OpDefaults<Family::shape> {
  static constexpr std::string_view mnemonic = "splat";
  static constexpr auto operands = names("scalar");
  static constexpr unsigned traits = rearranges;
  static constexpr Source source(SourceShapes const&) { return source_of({}); }
};
/// Returns each element's coordinate along an axis: `%t = iota {axis = 1} : tile<1x64xi32>`; i32 or i64.
struct IotaOp : OpDefaults<Family::constant> {
  static constexpr std::string_view mnemonic = "iota";
  static constexpr auto operands = names();
  std::int64_t axis = 0;
  static constexpr auto attributes() { return fields(field("axis", &IotaOp::axis, bounds::axis)); }
};
/// Returns elements that are known when a kernel is compiled: `%w = table {data = "0000803f00000040"} : tile<2xf32>`.
/// The digits are the bytes of the elements in memory, in row-major order, two hexadecimal digits a byte. The elements
/// lie in constant data of the kernel. Not for booleans. fold-tables makes it of tiles that depend on no argument.
struct TableOp : OpDefaults<Family::constant> {
  static constexpr std::string_view mnemonic = "table";
  static constexpr auto operands = names();
  Symbol data;
  static constexpr auto attributes() { return fields(field("data", &TableOp::data)); }
};
/// Repeats axes of extent 1 to the extents of the result type; same rank and element.
struct BroadcastOp : OpDefaults<Family::shape> {
  static constexpr std::string_view mnemonic = "broadcast";
  static constexpr auto operands = names("tile");
  static constexpr unsigned traits = rearranges;
  static constexpr Source source(SourceShapes const& of) {
    SourcePart part = same_place(of.result.size());
    for (int axis = 0; axis < part.rank; ++axis)
      if (of.operands[0][axis] != of.result[axis]) part.axes[axis] = {};
    return source_of(part);
  }
};
/// Inserts axes of extent 1: `{axes = [0, 2]}`, positions in the result, ascending.
struct ExpandDimsOp : OpDefaults<Family::shape> {
  static constexpr std::string_view mnemonic = "expand_dims";
  static constexpr auto operands = names("tile");
  static constexpr unsigned traits = rearranges;
  Extents axes;
  static constexpr auto attributes() { return fields(field("axes", &ExpandDimsOp::axes, bounds::axis)); }
  constexpr Source source(SourceShapes const& of) const {
    SourcePart part;
    for (int axis = 0, next = 0; axis < of.result.size(); ++axis)
      if (next < axes.size() && axes[next] == axis)
        ++next;
      else
        part.axes[part.rank++].axis = axis;
    return source_of(part);
  }
};
/// Drops axes of extent 1: `{axes = [1]}`, positions in the operand, ascending.
struct SqueezeOp : OpDefaults<Family::shape> {
  static constexpr std::string_view mnemonic = "squeeze";
  static constexpr auto operands = names("tile");
  static constexpr unsigned traits = rearranges;
  Extents axes;
  static constexpr auto attributes() { return fields(field("axes", &SqueezeOp::axes, bounds::axis)); }
  constexpr Source source(SourceShapes const& of) const {
    SourcePart part;
    part.rank = of.operands[0].size();
    for (int axis = 0, next = 0; axis < part.rank; ++axis)
      if (next < axes.size() && axes[next] == axis)
        ++next;
      else
        part.axes[axis].axis = axis - next;
    return source_of(part);
  }
};
/// Permutes axes: `{permutation = [1, 0]}`; result axis i is operand axis permutation[i].
struct TransOp : OpDefaults<Family::shape> {
  static constexpr std::string_view mnemonic = "trans";
  static constexpr auto operands = names("tile");
  static constexpr unsigned traits = rearranges;
  Extents permutation;
  static constexpr auto attributes() { return fields(field("permutation", &TransOp::permutation, bounds::axis)); }
  constexpr Source source(SourceShapes const& of) const {
    SourcePart part;
    part.rank = of.operands[0].size();
    for (int axis = 0; axis < permutation.size(); ++axis) part.axes[permutation[axis]].axis = axis;
    return source_of(part);
  }
};
/// Returns the same elements, in row-major order, in the shape of the result type: `%r = reshape %t : tile<8x16xf32>`.
/// `scratch` as for reduce.
struct ReshapeOp : OpDefaults<Family::shape> {
  static constexpr std::string_view mnemonic = "reshape";
  static constexpr auto operands = names("tile");
  static constexpr unsigned traits = rearranges;
  std::int64_t scratch = -1;
  static constexpr auto attributes() { return fields(field("scratch", &ReshapeOp::scratch, bounds::shared_offset)); }
  static constexpr Source source(SourceShapes const& of) {
    SourcePart part;
    part.rank = of.operands[0].size();
    part.row_major = true;
    return source_of(part);
  }
};
/// Puts two tiles one after the other along an axis: `%c = concatenate %a, %b {axis = 1} : tile<8x48xf32>`.
struct ConcatenateOp : OpDefaults<Family::shape> {
  static constexpr std::string_view mnemonic = "concatenate";
  static constexpr auto operands = names("lhs", "rhs");
  static constexpr unsigned traits = rearranges;
  std::int64_t axis = 0;
  static constexpr auto attributes() { return fields(field("axis", &ConcatenateOp::axis, bounds::axis)); }
  constexpr Source source(SourceShapes const& of) const {
    Source result = source_of(same_place(of.result.size()));
    SourcePart behind = same_place(of.result.size(), 1);
    behind.axes[axis].offset = -of.operands[0][static_cast<int>(axis)];
    result.add(behind);
    return result;
  }
};
/// Returns the box of the result's shape at these offsets: `%c = extract %t {offsets = [0, 64]} : tile<64x64xf32>`.
/// `uniform` states that all elements along the axes that the box cuts to extent 1 are equal. So each thread may take
/// one of its own; the simulator checks it. `scratch` as for reduce.
struct ExtractOp : OpDefaults<Family::shape> {
  static constexpr std::string_view mnemonic = "extract";
  static constexpr auto operands = names("tile");
  static constexpr unsigned traits = rearranges;
  Extents offsets;
  bool uniform = false;
  std::int64_t scratch = -1;
  static constexpr auto attributes() {
    return fields(field("offsets", &ExtractOp::offsets, {0, max_tile_elements}), field("uniform", &ExtractOp::uniform),
                  field("scratch", &ExtractOp::scratch, bounds::shared_offset));
  }
  constexpr Source source(SourceShapes const& of) const {
    SourcePart part = same_place(of.result.size());
    for (int axis = 0; axis < part.rank; ++axis) {
      part.axes[axis].offset = offsets[axis];
      part.axes[axis].uniform = uniform && of.result[axis] == 1;
    }
    return source_of(part);
  }
};
/// Returns the elements in a tile of other extents: `%r = resize %t : tile<4x128xf32>`. A smaller tile has the first
/// ones along each axis; in a larger one anything stands behind them. `scratch` as for reduce.
struct ResizeOp : OpDefaults<Family::shape> {
  static constexpr std::string_view mnemonic = "resize";
  static constexpr auto operands = names("tile");
  std::int64_t scratch = -1;
  static constexpr auto attributes() { return fields(field("scratch", &ResizeOp::scratch, bounds::shared_offset)); }
  static constexpr Source source(SourceShapes const& of) {
    Source result = source_of(same_place(of.result.size()));
    result.partial = true;
    return result;
  }
};
/// Exchanges neighbours along an axis: element i of the result is element i xor `stride` of the operand, a power of
/// two.
/// `%b = butterfly %t {axis = 1, stride = 4} : tile<8x64xf32>`. The extent is a multiple of twice the stride. `scratch`
/// as for reduce.
struct ButterflyOp : OpDefaults<Family::shape> {
  static constexpr std::string_view mnemonic = "butterfly";
  static constexpr auto operands = names("tile");
  static constexpr unsigned traits = one_layout;
  std::int64_t axis = 0;
  std::int64_t stride = 1;
  std::int64_t scratch = -1;
  static constexpr auto attributes() {
    return fields(field("axis", &ButterflyOp::axis, bounds::axis),
                  field("stride", &ButterflyOp::stride, {1, max_tile_elements}),
                  field("scratch", &ButterflyOp::scratch, bounds::shared_offset));
  }
  constexpr Source source(SourceShapes const& of) const {
    SourcePart part = same_place(of.result.size());
    part.axes[axis].mask = stride;
    return source_of(part);
  }
};
/// Returns the elements in the opposite order along an axis: `%r = flip %t {axis = 1} : tile<8x64xf32>`. `scratch` as
/// for reduce.
struct FlipOp : OpDefaults<Family::shape> {
  static constexpr std::string_view mnemonic = "flip";
  static constexpr auto operands = names("tile");
  static constexpr unsigned traits = one_layout;
  std::int64_t axis = 0;
  std::int64_t scratch = -1;
  static constexpr auto attributes() {
    return fields(field("axis", &FlipOp::axis, bounds::axis),
                  field("scratch", &FlipOp::scratch, bounds::shared_offset));
  }
  constexpr Source source(SourceShapes const& of) const {
    SourcePart part = same_place(of.result.size());
    part.axes[axis].step = -1;
    part.axes[axis].offset = of.result[static_cast<int>(axis)] - 1;
    return source_of(part);
  }
};
/// Returns the same tile in the layout of the result type. One of the two types may lack a layout, which layout
/// assignment then decides: where products meet tiles that do not have a layout yet. `scratch` as for reduce.
struct ConvertLayoutOp : OpDefaults<Family::shape> {
  static constexpr std::string_view mnemonic = "convert_layout";
  static constexpr auto operands = names("tile");
  static constexpr unsigned traits = rearranges;
  std::int64_t scratch = -1;
  static constexpr auto attributes() {
    return fields(field("scratch", &ConvertLayoutOp::scratch, bounds::shared_offset));
  }
  static constexpr Source source(SourceShapes const& of) { return source_of(same_place(of.result.size())); }
};
/// Returns the only element of a tile as a scalar: `%s = item %t : f32` of a `tile<1x1xf32>`. Every thread of the group
/// that runs the op has the same scalar. All threads hold the element of such a tile, so nothing is exchanged.
struct ItemOp : OpDefaults<Family::shape> {
  static constexpr std::string_view mnemonic = "item";
  static constexpr auto operands = names("tile");
  static constexpr unsigned traits = collective;
};
/// Returns the element of a tile at a place, one i64 for each axis, as a scalar: `%s = item_at %t, %i, %j : f32`. A
/// place outside the tile gives 0, and checks of bounds report it.
struct ItemAtOp : OpDefaults<Family::shape, on_host | on_tile_simulator> {
  static constexpr std::string_view mnemonic = "item_at";
  static constexpr auto operands = names("tile", "places");
  static constexpr unsigned traits = variadic | collective;
  static constexpr std::string_view replaced_by = "expand-items";
};

}  // namespace tegula::ir

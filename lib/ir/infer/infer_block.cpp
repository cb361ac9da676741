// Types the block ops. verify_block.cpp checks the rules that types and attributes do not show.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "ir/infer/infer_rule.hpp"
#include "layout/element_offsets.hpp"
#include "layout/parts.hpp"
#include "layout/shared_layouts.hpp"
#include "target/block_rules.hpp"
#include "target/box_rows.hpp"
#include "tegula/target/target_info.hpp"
#include "tegula/target/tma_rules.hpp"

namespace tegula::ir {

static_assert(bounds::box.max == tma_rule::max_box_extent);

namespace {

bool integer_scalar(Type const& type) { return type.is_scalar() && is_counting(type.element()); }

void integer_operand(Rule& rule, OperandOf place) {
  rule.require(integer_scalar(rule.operand(place)), rule.says(place) + " but must be i32 or i64");
}
/// Requires one offset per axis of operand `of`.
void element_offsets(Rule& rule, OperandOf of) {
  check_offsets(rule, rule.operand(of).rank(), rule.operand_name(of) + " " + to_string(rule.operand(of)));
  for (int i = rule.position("offsets"); i < static_cast<int>(rule.operands.size()); ++i) integer_operand(rule, i);
}
bool shared_operand(Rule& rule, OperandOf place) {
  return rule.require(rule.operand(place).is_shared(), rule.says(place) + " but must be in shared memory");
}
bool buffer_operand(Rule& rule, OperandOf place) {
  return rule.require(rule.operand(place).is_buffer(), rule.says(place) + " but must be a buffer or a view of one");
}
/// Requires the tile that a view holds.
void tile_for(Rule& rule, OperandOf tile, OperandOf view) {
  Type const &value = rule.operand(tile), &to = rule.operand(view);
  rule.require(value.with_layout(nullptr) == Type::tile(to.element(), to.shape()),
               rule.says(view) + " but " + rule.says(tile));
}
/// Requires the same, distributed over threads.
void laid_out_tile_for(Rule& rule, OperandOf tile, OperandOf view) {
  tile_for(rule, tile, view);
  Type const& value = rule.operand(tile);
  rule.require(value.layout() != nullptr, rule.operand_name(tile) + " needs a layout");
}
void mbarrier_operand(Rule& rule, OperandOf place, bool array = false) {
  rule.require(
      rule.operand(place).is_mbarrier() && (array || rule.operand(place).rank() == 0),
      rule.says(place) + (rule.operand(place).is_mbarrier() ? "; take one by view" : " but must be an mbarrier"));
}
void check_operand_count(Rule& rule, std::size_t max) {
  rule.require(rule.operands.size() <= max, fmt::format("{} operands but takes at most {}", rule.operands.size(), max));
}
void threads_at_barrier(Rule& rule, std::int64_t threads) {
  rule.require(threads >= warp_lanes && threads <= target::max_threads && threads % warp_lanes == 0,
               fmt::format("threads is {} but whole warps meet: a multiple of {}, {} to {}", threads, warp_lanes,
                           warp_lanes, target::max_threads));
}

/// Returns the layout of a view that takes one element of each of the first `drop` axes. It has the offset's bits and
/// digits without the outermost ones, which move along those axes. Null when they are not the outermost.
layout::Layout const* without_leading(layout::Layout const& layout, int drop) {
  layout::LayoutInput const& offset = layout.input(layout::Dim::offset);
  layout::LayoutInput kept{layout::Dim::offset, {}, {}};
  bool outside = false;
  bool legal = true;
  auto const keep = [&](Extents const& vector, auto&& add) {
    Extents rest;
    bool leading = false;
    bool trailing = false;
    for (int i = 0; i < vector.size(); ++i) {
      (i < drop ? leading : trailing) |= vector[i] != 0;
      if (i >= drop) rest.push_back(vector[i]);
    }
    legal = legal && !(leading && trailing) && !(outside && trailing);
    outside = outside || leading;
    if (!leading) add(rest);
  };
  for (Extents const& base : offset.bases) keep(base, [&](Extents const& rest) { kept.bases.push_back(rest); });
  for (layout::LayoutDigit const& digit : offset.digits)
    keep(digit.stride, [&](Extents const& rest) { kept.digits.push_back({digit.count, rest}); });
  return legal ? layout::Layout::get({kept}, layout.rank() - drop) : nullptr;
}

void view_of_mbarriers(Rule& rule) {
  Type const& source = rule.operand("source");
  Type const& stated = rule.stated[0];
  rule.require(
      stated.is_mbarrier() && source.rank() == 1 && stated.rank() == 0,
      rule.says("source") + " but the result is " + to_string(stated) + "; a view of mbarriers is one of them");
  rule.result(stated);
}

/// Requires that a view is the map's box, some whole number of times.
void box_fits(Rule& rule, Type const& view, std::string const& subject) {
  Type const& box = rule.operand("map");
  if (!rule.require(box.is_tensor_map(), rule.says("map") + " but must be a tensor map")) return;
  int const drop = box.rank() - view.rank();
  bool fits = drop >= 0 && box.element() == view.element();
  for (int i = 0; fits && i < box.rank(); ++i)
    fits = i < drop ? box.shape()[i] == 1 : view.shape()[i - drop] % box.shape()[i] == 0;
  rule.require(fits, subject + ", not whole boxes of " + to_string(box));
}
void box_fits(Rule& rule, OperandOf shared) {
  if (shared_operand(rule, shared)) box_fits(rule, rule.operand(shared), rule.says(shared));
}

void bulk(Rule& rule, OperandOf shared) {
  if (!rule.require(rule.operand("tensor").is_tensor(), rule.says("tensor") + " but must be a tensor") ||
      !shared_operand(rule, shared))
    return;
  Type const& view = rule.operand(shared);
  rule.require(view.element() == rule.operand("tensor").element(), rule.says("tensor") + " but " + rule.says(shared));
  std::int64_t const size = view.elements() * bytes(view.element());
  rule.require(size % 16 == 0, fmt::format("{}: {} bytes, not a multiple of 16", rule.says(shared), size));
}

constexpr std::int64_t piece_bytes = 16;

/// Requires rows of pieces that cover the rows of a box of a tensor.
void pieces_of_rows(Rule& rule, Type const& pieces, std::string const& says, OperandOf of) {
  int const size = bytes(pieces.element());
  if (!rule.require(rule.operand(of).rank() >= 2 && rule.operand(of).element() == pieces.element(),
                    says + ", not rows of " + to_string(rule.operand(of))))
    return;
  if (!rule.require(pieces.rank() == 2 && size <= 4 && pieces.shape()[1] * size % piece_bytes == 0 &&
                        pieces.shape()[1] * size > piece_bytes,
                    says + ", not rows of two pieces of 16 bytes or more, of elements of up to 4 bytes"))
    return;
  rule.require(pieces.layout() == layout::dense_layout(pieces.shape()), says + " but must be dense");
}

}  // namespace

// Buffers.
void apply(Rule& rule, BufferAllocOp const& op) {
  if (!rule.require(rule.stated.size() == 1, "the result's type must be stated")) return;
  rule.require(rule.stated[0].is_buffer() || rule.stated[0].is_mbarrier(),
               "the result is " + to_string(rule.stated[0]) + " but must be shared, global or mbarrier");
  rule.require(
      !rule.stated[0].is_global() || op.offset < 0,
      fmt::format("offset {} belongs to shared memory, but the result is {}", op.offset, to_string(rule.stated[0])));
  rule.require(rule.stated[0].is_global() || op.symbol.empty(),
               "symbol names buffers in global memory, but the result is " + to_string(rule.stated[0]));
  rule.require(std::has_single_bit(static_cast<std::uint64_t>(op.align)),
               fmt::format("align is {}, not a power of two up to 4096", op.align));
  rule.require(!rule.stated[0].is_mbarrier() || op.align >= 8, "mbarriers are aligned to 8 bytes");
  rule.require(op.offset < 0 || op.offset % op.align == 0,
               fmt::format("offset {} is not a multiple of align {}", op.offset, op.align));
  rule.result(rule.stated[0]);
}

/// True if a buffer's layout is known, on which that of a part of it depends.
bool with_layout(Rule& rule, Type const& buffer) {
  return rule.require(
      buffer.layout() != nullptr,
      "the source is " + to_string(buffer) + ", a buffer without a layout; write dense or swizzled(128), for example");
}

void apply(Rule& rule, ViewOp const&) {
  Type const& source = rule.operand("source");
  if (!rule.require(rule.stated.size() == 1, "the result's type must be stated")) return;
  element_offsets(rule, "source");
  if (source.is_mbarrier()) return view_of_mbarriers(rule);
  if (!buffer_operand(rule, "source")) return;
  if (!with_layout(rule, source)) return;
  Type const& stated = rule.stated[0];
  int const drop = source.rank() - stated.rank();
  bool inside = stated.kind() == source.kind() && stated.element() == source.element() && drop >= 0;
  for (int i = 0; inside && i < stated.rank(); ++i) inside = stated.shape()[i] <= source.shape()[i + drop];
  if (!rule.require(inside, "the result is " + to_string(stated) + ", not a box of " + to_string(source))) return;
  layout::Layout const* const layout = without_leading(*source.layout(), drop);
  if (rule.require(layout != nullptr, "the leading axes of " + to_string(source) + " are not the outermost in memory"))
    rule.result(stated.with_layout(layout));
}

void apply(Rule& rule, TransViewOp const&) {
  if (!buffer_operand(rule, "source")) return;
  Type const& source = rule.operand("source");
  if (!with_layout(rule, source)) return;
  int const rank = source.rank();
  if (!rule.require(rank >= 2, rule.says("source") + " but needs two axes")) return;
  Extents order;
  for (int i = 0; i < rank; ++i) order.push_back(i);
  order[rank - 2] = rank - 1;
  order[rank - 1] = rank - 2;
  Extents shape;
  for (std::int64_t const axis : order) shape.push_back(source.shape()[static_cast<int>(axis)]);
  rule.result(source.with_shape(shape).with_layout(source.layout()->transposed(order)));
}

void apply(Rule& rule, BufferLoadOp const&) {
  if (!buffer_operand(rule, "source") || !rule.require(rule.stated.size() == 1, "the result's type must be stated"))
    return;
  Type const& source = rule.operand("source");
  Type const& stated = rule.stated[0];
  bool const scalar = stated == Type::scalar(source.element()) && source.elements() == 1;
  rule.require(scalar || stated.with_layout(nullptr) == Type::tile(source.element(), source.shape()),
               rule.says("source") + " but the result is " + to_string(stated));
  rule.result(stated);
}

void apply(Rule& rule, BufferDeallocOp const&) { buffer_operand(rule, "buffer"); }

void apply(Rule& rule, BufferStoreOp const&) {
  if (!buffer_operand(rule, "destination")) return;
  Type const& to = rule.operand("destination");
  if (rule.operand("value") != Type::scalar(to.element()) || to.elements() != 1) tile_for(rule, "value", "destination");
}

// mbarriers, barriers and fences.
void apply(Rule& rule, MbarrierInitOp const&) { mbarrier_operand(rule, "mbarrier", true); }
void apply(Rule& rule, MbarrierInvalOp const&) { mbarrier_operand(rule, "mbarrier", true); }
void apply(Rule& rule, MbarrierArriveOp const& op) {
  mbarrier_operand(rule, "mbarrier");
  check_operand_count(rule, 2);
  rule.require(!op.relaxed || rule.operands.size() == 2,
               "relaxed is stated but no rank; arrivals at the CTA's own mbarrier release at no cost");
  if (rule.operands.size() == 2) integer_operand(rule, "rank");
}
void apply(Rule& rule, MbarrierExpectOp const&) { mbarrier_operand(rule, "mbarrier"); }
void apply(Rule& rule, MbarrierWaitOp const&) {
  mbarrier_operand(rule, "mbarrier");
  integer_operand(rule, "parity");
}
void apply(Rule&, FenceMbarrierInitOp const&) {}
void apply(Rule&, FenceProxyAsyncOp const&) {}
void apply(Rule& rule, BarrierOp const& op) {
  check_operand_count(rule, 1);
  if (rule.operands.empty()) {
    rule.require(op.threads == 0, "threads belongs to named barriers only; without an id all threads of the CTA meet");
    return;
  }
  integer_operand(rule, "id");
  threads_at_barrier(rule, op.threads);
}
void apply(Rule& rule, BarrierArriveOp const& op) {
  integer_operand(rule, "id");
  threads_at_barrier(rule, op.threads);
}
void apply(Rule&, WarpBarrierOp const&) {}
void apply(Rule&, ClusterArriveOp const&) {}
void apply(Rule&, ClusterWaitOp const&) {}
void apply(Rule&, LaunchDependentsOp const&) {}
void apply(Rule&, WaitDependenciesOp const&) {}

/// True if the stated type shows a box as rows of its last axis, one after the other: [1, 1, 128, 64] for a box of
/// [1, 8, 16, 64].
static bool stated_box(Rule const& rule, Extents const& box) {
  if (rule.stated.size() != 1 || !rule.stated[0].is_tensor_map()) return false;
  Type const& stated = rule.stated[0];
  return stated.element() == rule.operand("tensor").element() && box.size() >= 2 &&
         stated.shape() == target::stated_rows(box);
}

// Asynchronous copies.
void apply(Rule& rule, TensorMapOp const& op) {
  Type const& tensor = rule.operand("tensor");
  if (!rule.require(tensor.is_tensor(), rule.says("tensor") + " but must be a tensor")) return;
  rule.require(tensor.rank() <= 5, rule.says("tensor") + " but a tensor map has 1 to 5 axes");
  if (!rule.require(op.box.size() == tensor.rank(),
                    "box " + list_text(op.box) + " for " + to_string(tensor) + ": one extent per axis"))
    return;
  std::int64_t const inner = op.box.back() * bytes(tensor.element());
  rule.require(inner % 16 == 0, fmt::format("the box's last axis has {} bytes, not a multiple of 16", inner));
  std::int64_t const span = op.swizzle == Swizzle::none ? inner : std::int64_t{swizzle_bytes(op.swizzle)};
  rule.require(
      inner <= span,
      fmt::format("the box's last axis has {} bytes, but a swizzle of {} bytes takes at most that", inner, span));
  rule.result(stated_box(rule, op.box) ? rule.stated[0] : Type::tensor_map(tensor.element(), op.box));
}

/// Checks the operands from which a descriptor is built on the device.
static bool parts_of_map(Rule& rule) {
  Type const &map = rule.operand("map"), &slice = rule.operand("slice"), &home = rule.operand("home");
  return rule.require(map.is_tensor_map(), rule.says("map") + " but must be a tensor map") &&
         rule.require(slice.is_tensor() && slice.element() == map.element() && slice.rank() == map.rank(),
                      rule.says("slice") + " but must be a tensor of " + to_string(map)) &&
         rule.require(home.is_shared() && home.element() == Element::i64 && home.elements() == 1,
                      rule.says("home") + " but must be one i64 in shared memory");
}
void apply(Rule& rule, BuildTensorMapOp const&) { parts_of_map(rule); }
void apply(Rule&, ReleaseTensorMapsOp const&) {}
void apply(Rule& rule, DeviceTensorMapOp const&) {
  if (parts_of_map(rule)) rule.result(rule.operand("map"));
}
void apply(Rule& rule, AcquireTensorMapOp const&) {
  rule.require(rule.operand("map").is_tensor_map(), rule.says("map") + " but must be a tensor map");
}
void apply(Rule& rule, FreeTensorMapOp const&) {
  rule.require(rule.operand("map").is_tensor_map(), rule.says("map") + " but must be a tensor map");
}

/// Requires an index per axis of the tensor, of which the last one is a scalar, and at least one other is a tile of
/// integers of this shape. `first`: the first tile's layout is that of all.
static void row_indices(Rule& rule, int position, Extents const& shape) {
  Type const& tensor = rule.operand(0);
  int const given = static_cast<int>(rule.operands.size()) - position;
  Type const* first = nullptr;
  rule.require(given == tensor.rank(),
               fmt::format("{}{} for tensor {}", given, given == 1 ? " index" : " indices", to_string(tensor)));
  for (int i = position; !rule.failed && i < static_cast<int>(rule.operands.size()); ++i) {
    Type const& index = rule.operand(i);
    if (integer_scalar(index)) continue;
    bool const tile = index.is_tile() && is_counting(index.element()) && index.shape() == shape;
    if (first == nullptr) first = &index;
    bool const last = i + 1 == static_cast<int>(rule.operands.size());
    rule.require(tile && !last && index.layout() == first->layout(),
                 rule.says(i) + " but must be an integer" +
                     (last ? "" : ", or integers of shape " + layout::shape_text(shape) + ", all in one layout"));
  }
  rule.require(first != nullptr, "no index is a tile; state the rows");
}

void apply(Rule& rule, FetchOp const& op) {
  rule.require(op.share != 1, "share is 1; state the CTAs of the cluster that share the fetch, or leave it out");
  if (!rule.require(rule.stated.size() == 1 && rule.stated[0].is_shared(), "the result must be stated as shared"))
    return;
  if (Type const& rows = rule.stated[0], &tensor = rule.operand("map"); tensor.is_tensor()) {
    bool const at_indices = std::any_of(rule.operands.begin() + rule.position("offsets"), rule.operands.end(),
                                        [](Type const& operand) { return operand.is_tile(); });
    bool const fits = at_indices ? rows.rank() == 2 : rows.rank() >= 1 && rows.rank() <= tensor.rank();
    rule.require(fits && rows.element() == tensor.element(),
                 fmt::format("the result is {}, not {} of {}", to_string(rows), at_indices ? "rows" : "a box",
                             to_string(tensor)));
    rule.require(op.share == 0, fmt::format("share is {}, but what threads copy is not shared", op.share));
    if (!rule.failed && at_indices) row_indices(rule, rule.position("offsets"), {rows.shape()[0], 1});
    if (!at_indices) element_offsets(rule, "map");
    rule.result(rows);
    return;
  }
  box_fits(rule, rule.stated[0], "the result is " + to_string(rule.stated[0]));
  element_offsets(rule, "map");
  rule.result(rule.stated[0]);
}
void apply(Rule& rule, TmaLoadOp const&) {
  box_fits(rule, "destination");
  mbarrier_operand(rule, "mbarrier");
  element_offsets(rule, "map");
}
void apply(Rule& rule, TmaStoreOp const&) {
  box_fits(rule, "source");
  element_offsets(rule, "map");
}
void apply(Rule& rule, TmaReduceOp const& op) {
  rule.require(op.combine != Combine::product, "combine is product, but a copy adds or gives the max or min");
  box_fits(rule, "source");
  element_offsets(rule, "map");
}
void apply(Rule& rule, BulkLoadOp const&) {
  bulk(rule, "destination");
  mbarrier_operand(rule, "mbarrier");
  element_offsets(rule, "tensor");
}
void apply(Rule& rule, BulkStoreOp const&) {
  bulk(rule, "source");
  element_offsets(rule, "tensor");
}
void apply(Rule& rule, PeerStoreOp const&) {
  if (!shared_operand(rule, "destination")) return;
  laid_out_tile_for(rule, "value", "destination");
  rule.require(bytes(rule.operand("destination").element()) == 4,
               rule.says("destination") + " but its elements must have 4 bytes");
  mbarrier_operand(rule, "mbarrier");
  integer_operand(rule, "rank");
}
void apply(Rule&, BulkCommitOp const&) {}
void apply(Rule&, BulkWaitOp const&) {}
void apply(Rule& rule, PrefetchTensorMapOp const&) {
  rule.require(rule.operand("map").is_tensor_map(), rule.says("map") + " but must be a tensor map");
}
void apply(Rule& rule, TmaPrefetchOp const&) {
  rule.require(rule.operand("map").is_tensor_map(), rule.says("map") + " but must be a tensor map");
  element_offsets(rule, "map");
}
void apply(Rule& rule, PrefetchOp const& op) {
  if (!rule.require(rule.operand("tensor").is_tensor(), rule.says("tensor") + " but must be a tensor")) return;
  element_offsets(rule, "tensor");
  rule.require(op.box.size() == rule.operand("tensor").rank(),
               fmt::format("box is {} but must have an extent for each axis of {}", list_text(op.box),
                           to_string(rule.operand("tensor"))));
}
void apply(Rule& rule, CpAsyncOp const& op) {
  if (!rule.require(rule.operand("tensor").is_tensor(), rule.says("tensor") + " but must be a tensor") ||
      !shared_operand(rule, "destination"))
    return;
  Type const& view = rule.operand("destination");
  rule.require(view.element() == rule.operand("tensor").element() && view.rank() <= rule.operand("tensor").rank(),
               rule.says("destination") + ", not a box of " + to_string(rule.operand("tensor")));
  std::int64_t const chunk = op.vector * bytes(view.element());
  rule.require(chunk == 4 || chunk == 8 || chunk == 16,
               fmt::format("vector {} makes chunks of {} bytes, not 4, 8 or 16", op.vector, chunk));
  rule.require(op.vector >= 1 && view.shape().back() % op.vector == 0,
               fmt::format("{}: chunks of {} do not divide the last axis", rule.says("destination"), op.vector));
  element_offsets(rule, "tensor");
}
void apply(Rule& rule, CpAsyncGatherOp const& op) {
  if (!rule.require(rule.operand("tensor").is_tensor(), rule.says("tensor") + " but must be a tensor") ||
      !shared_operand(rule, "destination"))
    return;
  Type const& view = rule.operand("destination");
  if (!rule.require(view.element() == rule.operand("tensor").element() && view.rank() == 2,
                    rule.says("destination") + ", not rows of " + to_string(rule.operand("tensor"))))
    return;
  std::int64_t const chunk = op.vector * bytes(view.element());
  rule.require(chunk == 4 || chunk == 8 || chunk == 16,
               fmt::format("vector {} makes chunks of {} bytes, not 4, 8 or 16", op.vector, chunk));
  if (rule.require(op.vector >= 1 && view.shape().back() % op.vector == 0,
                   fmt::format("{}: chunks of {} do not divide the last axis", rule.says("destination"), op.vector)))
    row_indices(rule, rule.position("indices"), {view.shape()[0], view.shape()[1] / op.vector});
  for (int i = rule.position("indices"); !rule.failed && i < static_cast<int>(rule.operands.size()); ++i)
    rule.require(!rule.operand(i).is_tile() || rule.operand(i).layout() != nullptr,
                 rule.operand_name(i) + " needs a layout");
}
void apply(Rule& rule, CpAsyncCoverOp const&) {
  if (!rule.require(rule.operand("tensor").is_tensor(), rule.says("tensor") + " but must be a tensor") ||
      !shared_operand(rule, "destination"))
    return;
  pieces_of_rows(rule, rule.operand("destination"), rule.says("destination"), "tensor");
  element_offsets(rule, "tensor");
}
void apply(Rule& rule, ShiftedLoadOp const&) {
  if (!rule.require(rule.operand("tensor").is_tensor(), rule.says("tensor") + " but must be a tensor") ||
      !shared_operand(rule, "pieces") || !rule.require(rule.stated.size() == 1, "the result's type must be stated"))
    return;
  Type const &pieces = rule.operand("pieces"), &stated = rule.stated[0];
  pieces_of_rows(rule, pieces, rule.says("pieces"), "tensor");
  if (rule.failed) return;
  Extents const box = {pieces.shape()[0], pieces.shape()[1] - piece_bytes / bytes(pieces.element())};
  rule.require(stated.with_layout(nullptr) == Type::tile(pieces.element(), box),
               rule.says("pieces") + " but the result is " + to_string(stated));
  element_offsets(rule, "tensor");
  rule.result(stated);
}
void apply(Rule&, CpAsyncCommitOp const&) {}
void apply(Rule&, CpAsyncWaitOp const&) {}
void apply(Rule& rule, CpAsyncArriveOp const&) { mbarrier_operand(rule, "mbarrier"); }

// Products of the tensor cores.
static constexpr auto tensor_core_elements =
    "; there are f16, bf16, f32 (as tf32), for mma f64, and i8 and u8, e4m3 and e5m2 also with each other";

void apply(Rule& rule, WgmmaOp const&) {
  check_operand_count(rule, 4);
  if (!rule.require(rule.stated.size() == 1 && rule.stated[0].is_pending(), "the result must be stated as pending"))
    return;
  Type const& a = rule.operand("lhs");
  Type const& b = rule.operand("rhs");
  Type const& d = rule.stated[0];
  rule.require(a.is_shared() || a.is_tile(), rule.says("lhs") + " but must be in shared memory or a tile");
  if (!shared_operand(rule, "rhs")) return;
  if (!rule.require(a.rank() == 2 && b.rank() == 2 && d.rank() == 2,
                    rule.says("lhs") + " and " + rule.says("rhs") + " but the operands have 2 axes"))
    return;
  std::string const both = " (lhs " + short_text(a) + ", rhs " + short_text(b) + ")";
  rule.require(a.shape()[1] == b.shape()[0],
               fmt::format("dim 1 of lhs is {} but dim 0 of rhs is {}{}", a.shape()[1], b.shape()[0], both));
  rule.require(d.shape() == Extents{a.shape()[0], b.shape()[1]}, "the result is " + short_text(d) + both);
  rule.require(a.element() != Element::f64 && multiply_together(a.element(), b.element()),
               "no wgmma of these elements" + both + tensor_core_elements);
  rule.require(
      d.element() == dot_accumulator(a.element()) || (d.element() == Element::f16 && a.element() == Element::f16),
      "the result is " + short_text(d) + " but accumulates in f32, i32 for i8 and u8, or f16 for f16" + both);
  rule.require(a.is_shared() || a.layout() != nullptr, rule.operand_name("lhs") + " needs a layout");
  if (rule.operands.size() >= 3)
    rule.require(rule.operand("accumulator").in_registers() && rule.operand("accumulator").as(TypeKind::pending) == d,
                 "the accumulator is " + to_string(rule.operand("accumulator")) + " but the result is " + to_string(d));
  if (rule.operands.size() == 4)
    rule.require(rule.operands.back() == Type::scalar(Element::boolean),
                 "the accumulate flag is " + to_string(rule.operands.back()) + " but must be bool");
  rule.result(d);
}

void apply(Rule& rule, WgmmaFenceOp const&) {
  for (int i = 0; i < static_cast<int>(rule.operands.size()); ++i) {
    rule.require(rule.operand(i).in_registers(), rule.says(i) + " but must be a tile or pending");
    Type const pending = rule.operand(i).as(TypeKind::pending);
    auto const at = static_cast<std::size_t>(i);
    rule.result(at < rule.stated.size() && rule.stated[at] == pending ? pending : rule.operand(i));
  }
}
void apply(Rule&, WgmmaCommitOp const&) {}
void apply(Rule& rule, WgmmaWaitOp const&) {
  for (int i = 0; i < static_cast<int>(rule.operands.size()); ++i) {
    rule.require(rule.operand(i).in_registers(), rule.says(i) + " but must be a tile or pending");
    rule.result(rule.operand(i).as(TypeKind::tile));
  }
}

void apply(Rule& rule, MmaOp const&) {
  for (char const* const name : {"lhs", "rhs", "accumulator"})
    if (!rule.tile_operand(name) ||
        !rule.require(rule.operand(name).rank() == 2 && rule.operand(name).layout() != nullptr,
                      rule.says(name) + " but must have 2 axes and a layout"))
      return;
  Type const& a = rule.operand("lhs");
  Type const& b = rule.operand("rhs");
  Type const& acc = rule.operand("accumulator");
  std::string const both = " (lhs " + short_text(a) + ", rhs " + short_text(b) + ")";
  rule.require(a.shape()[1] == b.shape()[0] && acc.shape() == Extents{a.shape()[0], b.shape()[1]},
               "the accumulator is " + short_text(acc) + both);
  rule.require(multiply_together(a.element(), b.element()), "no mma of these elements" + both + tensor_core_elements);
  rule.require(acc.element() == dot_accumulator(a.element()),
               "the accumulator is " + short_text(acc) + " but must hold " +
                   std::string(name(dot_accumulator(a.element()))) + both);
  rule.result(acc);
}

// Warps.
void apply(Rule& rule, WarpSpecializeOp const& op) {
  int const partitions = op.warps.size();
  rule.require(partitions >= 1 && op.replicas.size() == partitions && op.registers.size() == partitions,
               "warps " + list_text(op.warps) + ", replicas " + list_text(op.replicas) + " and registers " +
                   list_text(op.registers) + " must state one number per partition");
  for (int i = 0; !rule.failed && i < partitions; ++i) {
    std::int64_t const registers = op.registers[i];
    rule.require(
        registers == 0 || (target::is_register_count(registers) && op.warps[i] % 4 == 0),
        fmt::format("registers {} for groups of {} warps: a multiple of 8 from 24 to 256, for whole warpgroups",
                    registers, op.warps[i]));
  }
}
void apply(Rule& rule, ElectOp const& op) {
  rule.require(op.warp >= ElectOp::each_warp || op.warp == ElectOp::each_warpgroup,
               fmt::format("warp is {}; state a number, -1 for each warp or -4 for each warpgroup", op.warp));
  bool const fills = op.ring > 0 && op.role == Role::producer, releases = op.ring > 0 && op.role == Role::consumer;
  rule.require(op.ring == 0 || op.role != Role::none,
               fmt::format("ring is {} but role is none; state role = producer or role = consumer", op.ring));
  rule.require(op.stages == 0 || fills,
               fmt::format("stages is {} but the region fills no ring; state ring and role = producer", op.stages));
  rule.require(op.lag == 0 || releases,
               fmt::format("lag is {} but the region releases no ring; state ring and role = consumer", op.lag));
}
void apply(Rule& rule, FillOp const& op) {
  rule.require((op.ring > 0) == (op.stages > 0),
               fmt::format("ring is {} but stages is {}; state both or neither", op.ring, op.stages));
}
void apply(Rule& rule, WarpIndexOp const&) { rule.result(Type::index()); }
void apply(Rule& rule, ClusterRankOp const&) { rule.result(Type::index()); }
void apply(Rule& rule, VoteOp const&) {
  rule.require((rule.operand("tile").is_tile() || rule.operand("tile").is_scalar()) &&
                   rule.operand("tile").element() == Element::boolean,
               rule.says("tile") + " but must hold bool");
  rule.result(Type::scalar(Element::boolean));
}
void apply(Rule& rule, ShuffleOp const&) {
  rule.tile_operand("tile");
  rule.result(rule.operand("tile"));
}
void apply(Rule& rule, FoldOp const& op) {
  if (!rule.tile_operand("tile") || !rule.axis_in(op.axis, rule.operand("tile").rank())) return;
  Type const& from = rule.operand("tile");
  rule.require(is_arithmetic(from.element()), rule.says("tile") + " but takes numbers");
  if (!rule.require(from.layout() != nullptr, rule.operand_name("tile") + " needs a layout")) return;
  layout::Layout const* const layout = layout::folded(*from.layout(), static_cast<int>(op.axis));
  if (!rule.require(layout != nullptr,
                    fmt::format("{}: axis {} moves over warps, or lanes move along it and another axis at once",
                                rule.says("tile"), op.axis)))
    return;
  rule.result(Type::tile(from.element(), layout->shape(), layout));
}
void apply(Rule& rule, AtomicOp const& op) {
  Type const& tensor = rule.operand("tensor");
  if (!rule.require(tensor.is_tensor(), rule.says("tensor") + " but must be a tensor")) return;
  bool const integers = is_counting(tensor.element());
  rule.require(integers || (op.kind == AtomicKind::add && tensor.element() == Element::f32),
               rule.says("tensor") + ": atomics are of i32 and i64, and add of f32");
  rule.require(rule.operand("value") == Type::scalar(tensor.element()),
               rule.says("tensor") + " but " + rule.says("value"));
  element_offsets(rule, "tensor");
  rule.result(Type::scalar(tensor.element()));
}

}  // namespace tegula::ir

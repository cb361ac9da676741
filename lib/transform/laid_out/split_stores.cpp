#include "transform/laid_out/split_stores.hpp"

#include <algorithm>
#include <deque>
#include <optional>
#include <span>

#include "analysis/box_updates.hpp"
#include "analysis/effects.hpp"
#include "analysis/shared_accesses.hpp"
#include "analysis/tma_tensor.hpp"
#include "ir/core/builder.hpp"
#include "ir/core/walk.hpp"
#include "ir/memory/accesses.hpp"
#include "ir/memory/shared_frame.hpp"
#include "layout/fragment_layouts.hpp"
#include "layout/parts.hpp"
#include "layout/shared_layouts.hpp"
#include "target/block_rules.hpp"
#include "tegula/support/warp.hpp"
#include "target/box_rows.hpp"
#include "tegula/target/target_info.hpp"
#include "tegula/target/tma_rules.hpp"
#include "transform/common/named_barriers.hpp"
#include "transform/common/ring_lifetimes.hpp"
#include "transform/common/tensor_maps.hpp"

namespace tegula::transform {
namespace {

using ir::Op;
using ir::Type;
using ir::Value;
using layout::Layout;

constexpr std::int64_t rows_per_warpgroup = target::wgmma_rows,
                       rows_per_warp = rows_per_warpgroup / target::warpgroup_warps;

/// Describes what goes to memory: a store, or an atomic update of a box.
struct Send {
  Op* op = nullptr;
  Value* tensor = nullptr;
  Value* tile = nullptr;
  analysis::BoxOffsets offsets;
  std::optional<ir::Combine> combine;  ///< with what is in memory

  [[nodiscard]] Type const& type() const { return tile->type(); }
  [[nodiscard]] int element_bytes() const { return bytes(type().element()); }
};

std::optional<Send> send_of(Op& op) {
  if (op.is<ir::StoreOp>()) {
    if (!op.as<ir::StoreOp>().part.empty()) return std::nullopt;
    analysis::BoxOffsets offsets;
    for (Value* offset : op.all<ir::StoreOp>("offsets")) offsets.push_back({offset, 0});
    return Send{&op, op.in<ir::StoreOp>("tensor"), op.in<ir::StoreOp>("tile"), std::move(offsets), {}};
  }
  auto offsets = analysis::updated_box(op);
  if (!offsets) return std::nullopt;
  auto const& update = op.as<ir::AtomicUpdateOp>();
  ir::Combine const combine = update.combine == ir::AtomicCombine::add   ? ir::Combine::sum
                              : update.combine == ir::AtomicCombine::min ? ir::Combine::min
                                                                         : ir::Combine::max;
  return Send{&op, op.in<ir::AtomicUpdateOp>("tensor"), op.in<ir::AtomicUpdateOp>("tile"), std::move(*offsets),
              combine};
}

/// Describes how a tile is cut. The 64 rows of a product that a warpgroup holds are rows of the tile, or its columns if
/// the product is transposed. Where warpgroups hold parts of the columns too, their parts of a chunk lie one after the
/// other, as the rows of a product that all warpgroups hold along the rows.
struct Cut {
  bool transposed = false;
  Element element = Element::f32;
  layout::WarpGrid grid;             ///< of the product
  Type tile;                         ///< as (rows, columns), or as (rows, columns of warpgroups, columns of one)
  Type part;                         ///< of a chunk, in the axes of that tile
  Extents box;                       ///< of the tensor that a warpgroup's copy takes
  Extents chunk;                     ///< of all warpgroups: what they hold along one axis, a part along the other
  Extents own;                       ///< of one warpgroup
  Layout const* fragment = nullptr;  ///< of a chunk in registers
  Layout const* memory = nullptr;    ///< of a chunk in shared memory
  Layout const* staging = nullptr;   ///< of all buffers
  int swizzle = 128;
  std::int64_t rows = 1;     ///< chunks along the rows
  std::int64_t columns = 1;  ///< and along the columns
  std::int64_t max = 2;      ///< buffers
  bool apart = false;        ///< turns write to places of their own, or add to them
  [[nodiscard]] std::int64_t chunks() const { return rows * columns; }
  [[nodiscard]] bool parts_columns() const { return grid.columns > 1; }
  [[nodiscard]] std::int64_t buffers() const { return std::min(chunks(), max); }
  [[nodiscard]] std::int64_t bytes(int size) const { return buffers() * chunk.product() * size; }
  /// Tells whether chunks take the buffers in turn, across tiles too.
  [[nodiscard]] bool in_turn() const { return apart && chunks() % buffers() == 0; }
  [[nodiscard]] bool shares_buffers(Cut const& other) const {
    return in_turn() && other.in_turn() && element == other.element && staging == other.staging &&
           memory == other.memory && own == other.own;
  }
};

class Split {
 public:
  Split(ir::Function& function, PassContext& context)
      : function_(function),
        tuning_(context.target.tuning),
        facts_(context.analyses.axis_facts()),
        accesses_(function, function.warps) {
    TargetInfo const& target = context.target;
    std::int64_t const beside = target.shared - bytes_beside_rings(function, target);
    room_ = beside - min_bytes_of_rings(function);
    if (room_ <= 0) room_ = beside - bytes_of_single_stages(function);  // stages are taken away anyhow
  }

  bool run() {
    // A copy out would have to end before a release.
    bool orders = false;
    ir::walk(function_,
             [&](Op const& op) { orders = orders || analysis::memory_order(op) != ir::MemoryOrder::relaxed; });
    if (orders) return false;
    std::vector<Planned> plan;
    ir::walk(function_, [&](Op& op) {
      if (std::optional<Send> send = send_of(op)) add(plan, std::move(*send));
    });
    if (plan.empty()) return false;
    auto const names = NamedBarriers(function_).take(function_.warps / target::warpgroup_warps);
    if (!names) return false;
    for (Planned& planned : plan) rewrite(planned, *names);
    ir::Builder end = ir::Builder::before(function_.body().back());
    Op& drain = end.op(ir::make_op<ir::ElectOp>(ir::ElectOp::each_warpgroup), {}, {});
    ir::Builder inside(drain.add_block());
    inside.op(ir::BulkWaitOp{}, {}, {});
    inside.op(ir::YieldOp{}, {}, {});
    return true;
  }

 private:
  /// Holds the buffers that sends in such chunks take in turn.
  struct Staging {
    Cut cut;
    Value* buffers = nullptr;  ///< once the first of them is written
    int sends = 1;
  };
  struct Planned {
    Send send;
    Cut cut;
    Staging* staging;
  };

  /// Returns the threads that would have to meet between two iterations' stores to one place. Nothing if each iteration
  /// stores to places of its own, or adds to them.
  std::optional<analysis::Level> between_turns(Send const& send) {
    if (send.combine) return std::nullopt;
    analysis::Access const& access = accesses_.of(*send.op).front();
    std::optional<analysis::Level> max;
    for (Op const* at = send.op->parent_op(); at != nullptr; at = at->parent_op())
      if (at->is<ir::ForOp>()) max = std::max(max, accesses_.relation(access, access, {at}, function_.warps));
    return max;
  }

  /// Tells whether all accesses to a tensor and to its views are updates of boxes by one operation.
  static bool only_updated(Value const& tensor, ir::Combine combine) {
    return std::all_of(tensor.uses().begin(), tensor.uses().end(), [&](ir::Use const& use) {
      if (use.user->is<ir::ExtentOp>()) return true;
      if (ir::is_view_op(*use.user)) return only_updated(*use.user->result(), combine);
      auto const send = send_of(*use.user);
      return send && send->combine == combine;
    });
  }

  /// Counts the accesses to a tensor and to its views.
  static std::ptrdiff_t accesses_to(Value const& tensor) {
    std::ptrdiff_t count = 0;
    for (ir::Use const& use : tensor.uses())
      if (ir::is_view_op(*use.user))
        count += accesses_to(*use.user->result());
      else
        count += use.user->is<ir::ExtentOp>() ? 0 : 1;
    return count;
  }

  bool can_be_sent(Send const& send) {
    ir::ParameterAttributes const& parameter = ir::parameter_of(*send.tensor);
    if (!known_at_start(*send.tensor) || send.type().rank() < 2) return false;
    bool const alone = send.combine ? only_updated(ir::parameter_behind(*send.tensor), *send.combine)
                                    : accesses_to(ir::parameter_behind(*send.tensor)) == 1;
    if (!alone || (!send.combine && parameter.direction != Direction::out)) return false;
    analysis::BoxOffset const& last = send.offsets.back();
    std::int64_t const multiple = last.value != nullptr ? facts_.divisor(*last.value) : last.number;
    auto const known = analysis::tma_tensor(*send.tensor, multiple, facts_);
    if (!target::tma_tensor_errors(known, send.element_bytes()).empty()) return false;
    // A copy out of shared memory may not begin before the tensor.
    for (analysis::BoxOffset const& offset : send.offsets)
      if ((offset.value != nullptr ? facts_.facts(*offset.value).min : offset.number) < 0) return false;
    return true;
  }

  /// Plans buffers for what can be sent, if its tile can be cut: those of an earlier one, else its own.
  void add(std::vector<Planned>& plan, Send send) {
    if (!can_be_sent(send)) return;
    // A warpgroup's stores through the TMA engine can wait for each other, those of different ones cannot.
    auto const turns = between_turns(send);
    if (turns > (function_.warps == target::warpgroup_warps ? analysis::Level::group : analysis::Level::warpgroup))
      return;
    if (std::optional<Cut> const wide = cut_of(send.type(), !turns, tuning_.max_staging))
      for (Staging& earlier : stagings_)
        if (earlier.cut.shares_buffers(*wide)) {
          ++earlier.sends;
          plan.push_back({std::move(send), *wide, &earlier});
          return;
        }
    std::optional<Cut> const cut = cut_of(send.type(), !turns, room_);
    if (!cut) return;
    room_ -= cut->bytes(send.element_bytes());
    stagings_.push_back({*cut});
    plan.push_back({std::move(send), *cut, &stagings_.back()});
  }

  /// Cuts a tile that lies as a product of tensor cores does, or as its transpose. Nothing if it does not. Its axes but
  /// the last are the rows of the product.
  std::optional<Cut> cut_of(Type const& sent, bool apart, std::int64_t room) const {
    std::string why;
    int const size = bytes(sent.element());
    Cut cut;
    cut.apart = apart;
    cut.element = sent.element();
    if (!find_product(cut, sent)) return std::nullopt;
    for (int const swizzle : {128, 64, 32, 0}) {
      cut.swizzle = swizzle;
      if (!(cut.transposed ? cut_columns(cut) : cut_rows(cut))) continue;
      if (swizzle > 32 && cut.bytes(size) > std::min(tuning_.max_staging, room)) continue;
      if (cut.bytes(size) > room) cut.max = 1;
      if (cut.bytes(size) > room) return std::nullopt;
      auto const laid_out = [&](Extents const& shape) {
        return swizzle == 0 ? layout::dense_layout(shape) : layout::swizzled_layout(shape, size, swizzle, why);
      };
      cut.memory = laid_out(cut.chunk);
      cut.staging = laid_out({cut.buffers(), cut.chunk[0], cut.chunk[1]});
      auto const box = target::box_of_rows(sent.shape(), cut.own[0]);
      if (cut.fragment == nullptr || cut.memory == nullptr || cut.staging == nullptr || !box) return std::nullopt;
      cut.box = *box;
      cut.box[cut.box.size() - 1] = swizzle == 0 ? cut.own[1] : swizzle / size;
      return cut;
    }
    return std::nullopt;
  }

  /// Finds the product that a tile is. Warpgroups that hold parts of its columns get an axis of their own.
  bool find_product(Cut& cut, Type const& sent) const {
    std::string why;
    Extents const shape = target::tile_of_box(sent.shape());
    auto const is = [&](Layout const* product) {
      if (product == nullptr) return false;
      cut.tile = Type::tile(sent.element(), shape, product);
      return (sent.rank() == 2 ? product : product->reshaped(sent.shape())) == sent.layout();
    };
    Layout const* const turned = layout::wgmma_layout({shape[1], shape[0]}, function_.warps, why);
    cut.transposed = turned != nullptr && is(turned->transposed({1, 0}));
    if (cut.transposed) return true;
    for (layout::WarpGrid const grid : layout::warp_grids(function_.warps)) {
      if (grid.copies > 1 || !is(layout::wgmma_layout(shape, grid, why))) continue;
      cut.grid = grid;
      if (!cut.parts_columns()) return true;
      Extents const parts = {shape[0], grid.columns, shape[1] / grid.columns};
      Layout const* const parted = cut.tile.layout()->reshaped(parts);
      cut.tile = Type::tile(sent.element(), parts, parted);
      return parted != nullptr;
    }
    return false;
  }

  /// Takes the rows of one round of the warps, and from each warpgroup the columns of a swizzled row; without a swizzle
  /// all its columns. Rows of an odd number of 16 bytes have no bank conflicts by themselves.
  bool cut_rows(Cut& cut) const {
    std::string why;
    Extents const& tile = cut.tile.shape();
    int const size = bytes(cut.element);
    std::int64_t const columns = cut.swizzle == 0 ? tile.back() : cut.swizzle / size;
    std::int64_t const round = rows_per_warp * cut.grid.rows;
    if (tile.back() % columns != 0 || columns * size % tma_rule::step_bytes != 0) return false;
    if (columns > tma_rule::max_box_extent) return false;
    cut.chunk = {rows_per_warp * function_.warps, columns};
    cut.own = {rows_per_warpgroup, columns};
    cut.rows = tile[0] / round;
    cut.columns = tile.back() / columns;
    cut.fragment = layout::wgmma_layout(cut.chunk, function_.warps, why);
    cut.part = Type::tile(cut.element, cut.chunk, cut.fragment);
    if (!cut.parts_columns()) return true;
    Extents const part = {round, cut.grid.columns, columns};
    Layout const* const own = layout::part_of(*cut.tile.layout(), part, {0, 0, 0});
    if (own == nullptr || own->transposed({1, 0, 2})->reshaped(cut.chunk) != cut.fragment) return false;
    cut.part = Type::tile(cut.element, part, own);
    return true;
  }

  /// Takes the columns of one round of the warps, and as many rows as let two chunks fit into the staging buffers.
  bool cut_columns(Cut& cut) const {
    std::string why;
    Extents const& tile = cut.tile.shape();
    std::int64_t const columns = rows_per_warp * function_.warps, size = bytes(cut.element);
    if (cut.swizzle == 0 || rows_per_warpgroup * size % cut.swizzle != 0) return false;
    std::int64_t rows = tile[0];
    while (rows % (2 * layout::swizzle_rows) == 0 &&
           tuning_.max_staging_buffers * rows * columns * size > tuning_.max_staging)
      rows /= 2;
    if (rows % layout::swizzle_rows != 0) return false;
    cut.chunk = {rows, columns};
    cut.own = {rows, rows_per_warpgroup};
    cut.rows = tile[0] / rows;
    cut.columns = tile[1] / columns;
    Layout const* const product = layout::wgmma_layout({columns, rows}, function_.warps, why);
    cut.fragment = product == nullptr ? nullptr : product->transposed({1, 0});
    cut.part = Type::tile(cut.element, cut.chunk, cut.fragment);
    return true;
  }

  /// Meets the threads of this warpgroup.
  static void meet(ir::Builder& builder, Value* name) {
    builder.op(ir::make_op<ir::BarrierOp>(std::int64_t{warp_lanes} * target::warpgroup_warps), {name}, {});
  }

  void rewrite(Planned& planned, std::int64_t first_name) {
    Send& send = planned.send;
    Cut const& cut = planned.cut;
    Op& op = *send.op;
    Element const element = send.type().element();
    Value* const map = map_of_rows(function_, *send.tensor, cut.box, cut.swizzle);
    ir::Builder start = ir::Builder::after(*map->defining_op());
    Value*& staging = planned.staging->buffers;
    if (staging == nullptr) {
      staging = start.value(ir::make_op<ir::BufferAllocOp>(layout::swizzle_alignment(cut.swizzle)), {},
                            Type::shared(element, {cut.buffers(), cut.chunk[0], cut.chunk[1]}, cut.staging));
      staging->set_name("staging");
    }

    ir::Builder builder = ir::Builder::before(op);
    builder.set_where(op.where());
    Value* const zero = builder.index(0);
    std::vector<Value*> offsets;
    for (analysis::BoxOffset const& offset : send.offsets)
      offsets.push_back(offset.value != nullptr ? offset.value : builder.index(offset.number));
    Type const view_type = Type::shared(element, cut.chunk, cut.memory);
    Type const own_type = Type::shared(element, cut.own, cut.memory);
    Value* const warp = builder.op(ir::WarpIndexOp{}, {}, {Type::index()}).result();
    Value* const group = builder.same(ir::ShrOp{}, {warp, builder.index(2)});
    Value* const name = builder.same(ir::AddOp{}, {group, builder.index(first_name)});
    Value* const of_warp = builder.same(ir::MulOp{}, {warp, builder.index(rows_per_warp)});
    Places const places = places_of(builder, send, cut, warp, of_warp, std::move(offsets));
    Value* const whole = in_axes_of(builder, cut, send.tile);
    bool const shared = planned.staging->sends > 1;
    for (std::int64_t chunk = 0; chunk < cut.chunks(); ++chunk) {
      Extents const at = {chunk / cut.columns * cut.part.shape()[0], chunk % cut.columns * cut.part.shape().back()};
      Value* const chunk_tile = chunk_of(builder, cut, *whole, at);
      Value* const buffer = builder.index(chunk % cut.buffers());
      std::int64_t const open = shared ? cut.buffers() - 1 : groups_since(op, cut, chunk);
      if (open >= 0) {
        Op& free = builder.op(ir::make_op<ir::ElectOp>(ir::ElectOp::each_warpgroup), {}, {});
        ir::Builder lane(free.add_block());
        // Within a turn it is enough that the buffer was read; the turn before may have written to the same place.
        bool const read_only = chunk >= cut.buffers() || cut.apart;
        lane.op(ir::make_op<ir::BulkWaitOp>(open, read_only), {}, {});
        lane.op(ir::YieldOp{}, {}, {});
        meet(builder, name);
      }
      Value* const view = builder.value(ir::ViewOp{}, {staging, buffer, zero, zero}, view_type);
      builder.op(ir::BufferStoreOp{}, {view, chunk_tile}, {});
      builder.op(ir::FenceProxyAsyncOp{}, {}, {});
      meet(builder, name);
      Op& elected = builder.op(ir::make_op<ir::ElectOp>(ir::ElectOp::each_warpgroup), {}, {});
      ir::Builder lane(elected.add_block());
      lane.set_where(op.where());
      Value* const own = cut.transposed ? lane.value(ir::ViewOp{}, {staging, buffer, zero, of_warp}, own_type)
                                        : lane.value(ir::ViewOp{}, {staging, buffer, of_warp, zero}, own_type);
      std::vector<Value*> operands = {map, own};
      for (Value* place : moved(lane, cut, send.type().shape(), places, at)) operands.push_back(place);
      if (send.combine)
        lane.op(ir::make_op<ir::TmaReduceOp>(*send.combine), operands, {});
      else
        lane.op(ir::TmaStoreOp{}, operands, {});
      lane.op(ir::BulkCommitOp{}, {}, {});
      lane.op(ir::YieldOp{}, {}, {});
    }
    op.erase();
  }

  /// Returns the tile as it is cut.
  static Value* in_axes_of(ir::Builder& builder, Cut const& cut, Value* tile) {
    return tile->type() == cut.tile ? tile : builder.value(ir::ReshapeOp{}, {tile}, cut.tile);
  }

  /// Returns the chunk whose first row and column, of each warpgroup's columns, are these.
  static Value* chunk_of(ir::Builder& builder, Cut const& cut, Value& tile, Extents at) {
    if (cut.parts_columns()) at.insert(1, 0);
    ir::ExtractOp extract;
    extract.offsets = at;
    Value* const part = builder.value(extract, {&tile}, cut.part);
    if (!cut.parts_columns()) return part;
    Extents const& shape = cut.part.shape();
    Type const groups_first =
        Type::tile(cut.element, {shape[1], shape[0], shape[2]}, cut.part.layout()->transposed({1, 0, 2}));
    Value* const turned = builder.value(ir::make_op<ir::TransOp>(Extents{1, 0, 2}), {part}, groups_first);
    return builder.value(ir::ReshapeOp{}, {turned}, Type::tile(cut.element, cut.chunk, cut.fragment));
  }

  /// Holds the place of a warpgroup's part of the first chunk.
  struct Places {
    std::vector<Value*> offsets;  ///< along the tensor's axes
    Value* row = nullptr;         ///< to be parted among several axes of the box; null: the first
  };

  /// Returns the places of this warpgroup. `of_warp`: 16 rows for each warp before this one.
  static Places places_of(ir::Builder& builder, Send const& send, Cut const& cut, Value* warp, Value* of_warp,
                          std::vector<Value*> offsets) {
    Places places{std::move(offsets)};
    Value* row = cut.transposed ? nullptr : of_warp;
    Value* column = cut.transposed ? of_warp : nullptr;
    if (cut.parts_columns()) {
      Value* const in_column = builder.same(ir::RemOp{}, {warp, builder.index(cut.grid.rows)});
      Value* const number = builder.same(ir::DivOp{}, {warp, builder.index(cut.grid.rows)});
      row = builder.same(ir::MulOp{}, {in_column, builder.index(rows_per_warp)});
      column = builder.same(ir::MulOp{}, {number, builder.index(cut.tile.shape().back())});
    }
    auto const move = [&](std::size_t from_last, Value* by) {
      Value*& offset = places.offsets[places.offsets.size() - from_last];
      if (by != nullptr) offset = builder.same(ir::AddOp{}, {offset, by});
    };
    move(1, column);
    if (send.type().rank() == 2)
      move(2, row);
    else
      places.row = row;
    return places;
  }

  /// Returns the places of this warpgroup's part of another chunk.
  static std::vector<Value*> moved(ir::Builder& lane, Cut const& cut, Extents const& box, Places const& places,
                                   Extents const& at) {
    std::vector<Value*> result = places.offsets;
    std::size_t const leading = result.size() - static_cast<std::size_t>(box.size());
    auto const add = [&](int axis, Value* more) {
      Value*& offset = result[leading + static_cast<std::size_t>(axis)];
      offset = lane.same(ir::AddOp{}, {offset, more});
    };
    if (box.size() == 2) {
      add(0, lane.index(at[0]));
    } else {
      std::int64_t const rows = target::tile_of_box(box)[0];
      std::int64_t behind = rows;  // of one step along the axis
      for (int axis = 0; axis + 1 < box.size(); ++axis) {
        behind /= box[axis];
        if (cut.box[axis] == box[axis]) continue;  // each copy takes the whole axis
        Value* row = lane.index(at[0]);
        if (places.row != nullptr) row = lane.same(ir::AddOp{}, {places.row, row});
        Value* const steps = lane.same(ir::DivOp{}, {row, lane.index(behind)});
        bool const outermost = behind * box[axis] == rows;
        add(axis, outermost ? steps : lane.same(ir::RemOp{}, {steps, lane.index(box[axis])}));
      }
    }
    add(box.size() - 1, lane.index(at[1]));
    return result;
  }

  /// Counts the groups that a lane committed after the one that reads this chunk's buffer now. -1: nothing reads it, or
  /// a wait of this turn has seen to it.
  static std::int64_t groups_since(Op const& op, Cut const& cut, std::int64_t chunk) {
    if (chunk >= cut.buffers()) return cut.buffers() - 1;
    bool repeats = false;
    for (Op const* at = op.parent_op(); at != nullptr; at = at->parent_op()) repeats = repeats || at->is<ir::ForOp>();
    if (!repeats) return -1;
    std::int64_t before = cut.chunks() - 1;  // the last chunk of the turn before that used this buffer
    while (before % cut.buffers() != chunk) --before;
    for (std::int64_t earlier = 0; earlier < chunk; ++earlier)
      if (cut.chunks() - 1 - before + earlier >= groups_since(op, cut, earlier)) return -1;
    return cut.chunks() - 1 - before + chunk;
  }

  ir::Function& function_;
  Tuning const& tuning_;
  analysis::AxisFacts const& facts_;
  analysis::SharedAccesses accesses_;
  std::deque<Staging> stagings_;
  std::int64_t room_ = 0;  ///< bytes that the smallest rings leave
};

}  // namespace

PassResult split_stores(ir::Function& function, PassContext& context) {
  TargetInfo const& target = context.target;
  if (!function.is_kernel() || function.warps % target.warps_per_group != 0 || function.warps == 0 ||
      !target.has(Ability::tma))
    return PassResult::unchanged;
  return result_of(Split(function, context).run());
}

}  // namespace tegula::transform

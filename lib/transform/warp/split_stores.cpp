#include "transform/warp/split_stores.hpp"

#include <algorithm>
#include <optional>
#include <span>

#include "analysis/effects.hpp"
#include "analysis/shared_accesses.hpp"
#include "analysis/tma_tensor.hpp"
#include "ir/accesses.hpp"
#include "ir/builder.hpp"
#include "layout/fragment_layouts.hpp"
#include "ir/shared_frame.hpp"
#include "layout/shared_layouts.hpp"
#include "ir/walk.hpp"
#include "tegula/target/target_info.hpp"
#include "transform/barrier/named_barriers.hpp"
#include "transform/barrier/ring_lifetimes.hpp"
#include "transform/tile/tensor_maps.hpp"

namespace tegula::transform {
namespace {

using ir::Op;
using ir::Type;
using ir::Value;
using layout::Layout;

constexpr std::int64_t rows_per_warp = 16, rows_per_warpgroup = rows_per_warp * isa::warps_per_group;
constexpr std::int64_t max_buffers = 2;
constexpr std::int64_t max_staging = 32 * 1024;  ///< bytes; rings need the rest

/// Describes how a store is cut.
struct Cut {
  Extents chunk;                     ///< rows of one round of the warps, columns of one swizzled row
  Layout const* fragment = nullptr;  ///< of a chunk in registers
  Layout const* memory = nullptr;    ///< of a chunk in shared memory
  Layout const* staging = nullptr;   ///< of all buffers
  int swizzle = 128;
  std::int64_t rows = 1;     ///< chunks along the rows
  std::int64_t columns = 1;  ///< and along the columns
  std::int64_t max = max_buffers;
  [[nodiscard]] std::int64_t chunks() const { return rows * columns; }
  [[nodiscard]] std::int64_t buffers() const { return std::min(chunks(), max); }
  [[nodiscard]] std::int64_t bytes(int size) const { return buffers() * chunk.product() * size; }
};

class Split {
 public:
  Split(ir::Function& function, AnalysisCache& analyses, TargetInfo const& target)
      : function_(function), facts_(analyses.axis_facts()), accesses_(function, function.warps) {
    room_ = target.shared - bytes_beside_rings(function) - min_bytes_of_rings(function);
    if (room_ <= 0) room_ = target.shared;  // narrow staging would not help
  }

  bool run() {
    std::vector<std::pair<Op*, Cut>> stores;
    // A copy out would have to end before a release.
    bool orders = false;
    ir::walk(function_,
             [&](Op const& op) { orders = orders || analysis::memory_order(op) != ir::MemoryOrder::relaxed; });
    if (orders) return false;
    ir::walk(function_, [&](Op& op) {
      Cut cut;
      if (!op.is<ir::StoreOp>() || !can_be_cut(op, cut)) return;
      stores.emplace_back(&op, cut);
      room_ -= cut.bytes(bytes(op.in<ir::StoreOp>("tile")->type().element()));
    });
    if (stores.empty()) return false;
    auto const names = NamedBarriers(function_).take(function_.warps / isa::warps_per_group);
    if (!names) return false;
    for (auto& [store, cut] : stores) rewrite(*store, cut, *names);
    ir::Builder end = ir::Builder::before(function_.body().back());
    Op& drain = end.op(ir::make_op<ir::ElectOp>(ir::ElectOp::each_warpgroup), {}, {});
    ir::Builder inside(drain.add_block());
    inside.op(ir::BulkWaitOp{}, {}, {});
    inside.op(ir::YieldOp{}, {}, {});
    return true;
  }

 private:
  /// Gives the threads that would have to meet between two iterations' stores to one place. Nothing if each iteration
  /// stores to places of its own.
  std::optional<analysis::Level> between_turns(Op const& store) {
    analysis::Access const& access = accesses_.of(store).front();
    std::optional<analysis::Level> max;
    for (Op const* at = store.parent_op(); at != nullptr; at = at->parent_op())
      if (at->is<ir::ForOp>()) max = std::max(max, accesses_.relation(access, access, {at}, function_.warps));
    return max;
  }

  /// Counts the accesses to a tensor and to its slices.
  static std::ptrdiff_t accesses_to(Value const& tensor) {
    std::ptrdiff_t count = 0;
    for (ir::Use const& use : tensor.uses())
      if (use.user->is<ir::SliceOp>())
        count += accesses_to(*use.user->result());
      else
        count += use.user->is<ir::ExtentOp>() ? 0 : 1;
    return count;
  }

  bool can_be_cut(Op const& store, Cut& cut) {
    Value const& tensor = *store.in<ir::StoreOp>("tensor");
    Type const& tile = store.in<ir::StoreOp>("tile")->type();
    ir::ParameterAttributes const& parameter = ir::parameter_of(tensor);
    bool const alone = accesses_to(ir::parameter_behind(tensor)) == 1 && known_at_start(tensor);
    if (parameter.direction != Direction::out || !alone || tile.rank() != 2) return false;
    if (!store.as<ir::StoreOp>().part.empty()) return false;
    int const size = bytes(tile.element());
    if (!target::tma_tensor_errors(analysis::tma_tensor(store, facts_), size).empty()) return false;
    // A copy out of shared memory may not begin before the tensor.
    for (Value const* offset : store.all<ir::StoreOp>("offsets"))
      if (facts_.facts(*offset).min < 0) return false;
    // A warpgroup's stores through the TMA engine can wait for each other, those of different ones cannot.
    bool const alone_in_group = function_.warps == isa::warps_per_group;
    if (between_turns(store) > (alone_in_group ? analysis::Level::group : analysis::Level::warpgroup)) return false;

    std::string why;
    int const warps = function_.warps;
    if (layout::wgmma_layout(tile.shape(), warps, why) != tile.layout()) return false;
    for (int const swizzle : {128, 64, 32}) {
      std::int64_t const columns = swizzle / size;
      if (tile.shape()[1] % columns != 0) continue;
      cut.swizzle = swizzle;
      cut.chunk = {rows_per_warp * warps, columns};
      cut.rows = tile.shape()[0] / cut.chunk[0];
      cut.columns = tile.shape()[1] / columns;
      cut.fragment = layout::wgmma_layout(cut.chunk, warps, why);
      cut.memory = layout::swizzled_layout(cut.chunk, size, swizzle, why);
      if (swizzle > 32 && cut.bytes(size) > std::min(max_staging, room_)) continue;
      if (cut.bytes(size) > room_) cut.max = 1;
      cut.staging = layout::swizzled_layout({cut.buffers(), cut.chunk[0], cut.chunk[1]}, size, swizzle, why);
      return cut.fragment != nullptr && cut.memory != nullptr && cut.staging != nullptr;
    }
    return false;
  }

  /// Meets the threads of this warpgroup.
  static void meet(ir::Builder& builder, Value* name) {
    builder.op(ir::make_op<ir::BarrierOp>(std::int64_t{32} * isa::warps_per_group), {name}, {});
  }

  void rewrite(Op& store, Cut const& cut, std::int64_t first_name) {
    Value *const tensor = store.in<ir::StoreOp>("tensor"), *const tile = store.in<ir::StoreOp>("tile");
    std::span<Value* const> const offsets = store.all<ir::StoreOp>("offsets");
    // Axes of which the tile takes one element each.
    std::span<Value* const> const leading = offsets.first(offsets.size() - 2);
    Value *const row_offset = offsets[leading.size()], *const column_offset = offsets.back();
    Element const element = tile->type().element();
    ir::TensorMapOp map_of;
    for (std::size_t axis = 0; axis < leading.size(); ++axis) map_of.box.push_back(1);
    map_of.box.push_back(rows_per_warpgroup);
    map_of.box.push_back(cut.chunk[1]);
    map_of.swizzle = swizzle_of(cut.swizzle);
    Value* const map = tensor_map_at_start(function_, *tensor, map_of);
    ir::Builder start = ir::Builder::after(*map->defining_op());
    Value* const staging = start.value(ir::make_op<ir::BufferAllocOp>(layout::swizzle_alignment(cut.swizzle)), {},
                                       Type::shared(element, {cut.buffers(), cut.chunk[0], cut.chunk[1]}, cut.staging));
    staging->set_name("staging");

    ir::Builder builder = ir::Builder::before(store);
    builder.set_where(store.where());
    Value* const zero = builder.index(0);
    Type const view_type = Type::shared(element, cut.chunk, cut.memory);
    Type const part_type = Type::shared(element, {rows_per_warpgroup, cut.chunk[1]}, cut.memory);
    Value* const warp = builder.op(ir::WarpIndexOp{}, {}, {Type::index()}).result();
    Value* const group = builder.same(ir::ShrOp{}, {warp, builder.index(2)});
    Value* const name = builder.same(ir::AddOp{}, {group, builder.index(first_name)});
    Value* const warp_row = builder.same(ir::MulOp{}, {warp, builder.index(rows_per_warp)});
    Value* const first_row = builder.same(ir::AddOp{}, {row_offset, warp_row});
    bool const apart = !between_turns(store);
    for (std::int64_t chunk = 0; chunk < cut.chunks(); ++chunk) {
      Extents const at = {chunk / cut.columns * cut.chunk[0], chunk % cut.columns * cut.chunk[1]};
      ir::ExtractOp part;
      part.offsets = at;
      Value* const chunk_tile = builder.value(part, {tile}, Type::tile(element, cut.chunk, cut.fragment));
      Value* const buffer = builder.index(chunk % cut.buffers());
      std::int64_t const open = groups_since(store, cut, chunk);
      if (open >= 0) {
        Op& free = builder.op(ir::make_op<ir::ElectOp>(ir::ElectOp::each_warpgroup), {}, {});
        ir::Builder lane(free.add_block());
        // Within a turn it is enough that the buffer was read; the turn before may have written to the same place.
        bool const read_only = chunk >= cut.buffers() || apart;
        lane.op(ir::make_op<ir::BulkWaitOp>(open, read_only), {}, {});
        lane.op(ir::YieldOp{}, {}, {});
        meet(builder, name);
      }
      Value* const view = builder.value(ir::ViewOp{}, {staging, buffer, zero, zero}, view_type);
      builder.op(ir::BufferStoreOp{}, {view, chunk_tile}, {});
      builder.op(ir::FenceProxyAsyncOp{}, {}, {});
      meet(builder, name);
      Op& send = builder.op(ir::make_op<ir::ElectOp>(ir::ElectOp::each_warpgroup), {}, {});
      ir::Builder lane(send.add_block());
      lane.set_where(store.where());
      Value* const own = lane.value(ir::ViewOp{}, {staging, buffer, warp_row, zero}, part_type);
      Value* const row = lane.same(ir::AddOp{}, {first_row, lane.index(at[0])});
      Value* const column = lane.same(ir::AddOp{}, {column_offset, lane.index(at[1])});
      std::vector<Value*> operands = {map, own};
      operands.insert(operands.end(), leading.begin(), leading.end());
      operands.insert(operands.end(), {row, column});
      lane.op(ir::TmaStoreOp{}, operands, {});
      lane.op(ir::BulkCommitOp{}, {}, {});
      lane.op(ir::YieldOp{}, {}, {});
    }
    store.erase();
  }

  /// Counts the groups that a lane committed after the one that reads this chunk's buffer now. -1: nothing reads it, or
  /// a wait of this turn has seen to it.
  static std::int64_t groups_since(Op const& store, Cut const& cut, std::int64_t chunk) {
    if (chunk >= cut.buffers()) return cut.buffers() - 1;
    bool repeats = false;
    for (Op const* at = store.parent_op(); at != nullptr; at = at->parent_op())
      repeats = repeats || at->is<ir::ForOp>();
    if (!repeats) return -1;
    std::int64_t before = cut.chunks() - 1;  // the last chunk of the turn before that used this buffer
    while (before % cut.buffers() != chunk) --before;
    for (std::int64_t earlier = 0; earlier < chunk; ++earlier)
      if (cut.chunks() - 1 - before + earlier >= groups_since(store, cut, earlier)) return -1;
    return cut.chunks() - 1 - before + chunk;
  }

  ir::Function& function_;
  analysis::AxisFacts const& facts_;
  analysis::SharedAccesses accesses_;
  std::int64_t room_ = 0;  ///< bytes that the smallest rings leave
};

}  // namespace

PassResult split_stores(ir::Function& function, AnalysisCache& analyses, PassContext& context) {
  if (!function.is_kernel() || function.warps % 4 != 0 || function.warps == 0) return PassResult::unchanged;
  return result_of(Split(function, analyses, context.target).run());
}

}  // namespace tegula::transform

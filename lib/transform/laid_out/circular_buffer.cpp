#include "transform/laid_out/circular_buffer.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "ir/core/builder.hpp"
#include "ir/core/loop.hpp"
#include "ir/core/rewrite.hpp"
#include "ir/core/walk.hpp"
#include "ir/memory/accesses.hpp"
#include "layout/shared_layouts.hpp"
#include "transform/common/dead_code.hpp"
#include "transform/common/fetches.hpp"
#include "transform/common/loop_regions.hpp"
#include "transform/common/ring_lifetimes.hpp"
#include "transform/laid_out/ring_depths.hpp"
#include "transform/laid_out/ring_sites.hpp"
#include "transform/laid_out/ring_uses.hpp"
#include "transform/laid_out/row_places.hpp"

namespace tegula::transform {
namespace {

using ir::Op;
using ir::Type;
using ir::Value;

bool read_by_tensor_cores(Value const& view) {
  return std::any_of(view.uses().begin(), view.uses().end(), [](ir::Use const& use) {
    bool const moved = use.user->is<ir::ViewOp>() || use.user->is<ir::TransViewOp>();
    return use.user->is<ir::WgmmaOp>() || (moved && read_by_tensor_cores(*use.user->result()));
  });
}
bool threads_copy_for_tensor_cores(Op const* fetch) {
  return threads_copy(*fetch) && read_by_tensor_cores(*fetch->result());
}

std::string base_name(Op const& fetch, char const* otherwise) {
  return fetch.result()->name().empty() ? otherwise : fetch.result()->name();
}

/// Gives rings their buffers and mbarriers, and each fetch its copy, wait and release.
class Rings {
 public:
  Rings(ir::Function& function, PassContext& context) : function_(function), context_(context) {}

  bool run() {
    bool erased = false;
    auto found = find_rings(function_, context_, erased);
    if (!found || found->empty()) return erased;
    groups_ = std::move(*found);
    if (!choose_depths(groups_, function_, context_)) return false;
    allocate();
    number_rings();
    for (RingGroup& group : groups_) {
      count_uses(group);
      for (Ring& ring : group.rings) {
        for (FillSite const& site : ring.sites)
          if (Op* const loop = ir::loop_around(site.block())) mark(*loop, ir::LoopRegion::main);
        for (std::size_t i = 0; i < ring.sites.size(); ++i) give_back(ring, i);
        for (FillSite& site : ring.sites) rewrite(ring, site);
      }
    }
    erase_unused(indices_);
    return true;
  }

 private:
  // ---- buffers and barriers before everything that has an effect.

  void allocate() {
    Op& first = first_effect(function_);
    ir::Builder builder = ir::Builder::before(first);
    for (RingGroup& group : groups_)
      for (Ring& ring : group.rings) {
        std::vector<Op*> const& fetches = ring.sites.front().fetches;
        for (Op const* fetch : fetches) ring.buffers.push_back(buffer(builder, *fetch, ring.stages));
        std::string const name = base_name(*fetches.front(), "ring");
        ring.full = barriers(builder, ring.stages, "full_" + name);
        if (ring.repeats()) ring.empty = barriers(builder, ring.stages, "empty_" + name);
      }
    if (shares()) rank_ = builder.op(ir::ClusterRankOp{}, {}, {Type::index()}).result();
    if (auto const* const begun = first.dyn<ir::ElectOp>(); begun && begun->region == ir::LoopRegion::pre_prologue) {
      // The fence after other mbarriers' initialisation there is enough.
      ir::Builder inside = ir::Builder::before(first.block().front());
      return initialise(inside, first);
    }
    elected(builder, ir::LoopRegion::pre_prologue, [&](ir::Builder& inside) {
      initialise(inside, first);
      inside.op(ir::FenceMbarrierInitOp{}, {}, {});
    });
    // Each thread arrives at mbarriers of boxes and pieces, perhaps before it meets any other.
    if (threads_copy_boxes()) builder.op(ir::BarrierOp{}, {}, {});
    if (shares()) keep_cluster(builder);
  }

  [[nodiscard]] bool threads_copy_boxes() const {
    return std::any_of(groups_.begin(), groups_.end(), [](RingGroup const& group) {
      return std::any_of(group.rings.begin(), group.rings.end(), [](Ring const& ring) {
        Op const& fetch = *ring.sites.front().fetches.front();
        return threads_copy(fetch) && !fetches_rows(fetch);
      });
    });
  }

  [[nodiscard]] bool shares() const {
    return std::any_of(groups_.begin(), groups_.end(), [](RingGroup const& group) {
      return std::any_of(group.rings.begin(), group.rings.end(), [](Ring const& ring) { return ring.share > 1; });
    });
  }

  /// Lets the CTAs of the cluster meet before one sends to another, and before one ends to which another may send.
  void keep_cluster(ir::Builder& builder) {
    builder.op(ir::make_op<ir::ClusterArriveOp>(true), {}, {});
    builder.op(ir::ClusterWaitOp{}, {}, {});
    ir::Builder end = ir::Builder::before(function_.body().back());
    // The barrier takes whole warps: lanes that were elected meet the others.
    end.op(ir::make_op<ir::WarpBarrierOp>(ir::Purpose::schedule), {}, {});
    end.op(ir::ClusterArriveOp{}, {}, {});
    end.op(ir::ClusterWaitOp{}, {}, {});
  }

  /// Initialises mbarriers in a region that stands right before `first`, or is its own.
  void initialise(ir::Builder& builder, Op const& first) {
    prefetch_maps(builder, first);
    for (RingGroup const& group : groups_)
      for (Ring const& ring : group.rings) {
        builder.op(ir::make_op<ir::MbarrierInitOp>(arrivals(ring.sites.front())), {ring.full}, {});
        if (ring.empty != nullptr)
          builder.op(ir::make_op<ir::MbarrierInitOp>(function_.warps * ring.share), {ring.empty}, {});
      }
  }

  /// Counts the arrivals of a fill: of the lane that starts copies, and of the threads that copy rows.
  [[nodiscard]] std::int64_t arrivals(FillSite const& site) const {
    return (site.by_engine() ? 1 : 0) + (site.by_threads() ? function_.warps * context_.target.lanes : 0);
  }

  /// Prefetches the maps that are passed by value. A slice's map is built later, and may stand after `first`.
  void prefetch_maps(ir::Builder& builder, Op const& first) {
    auto const by_value = [&](Value const& map) {
      Op const* const op = map.defining_op();
      return op != nullptr && op->is<ir::TensorMapOp>() &&
             op->in<ir::TensorMapOp>("tensor")->defined_by<ir::SliceOp>() == nullptr &&
             op->parent() == first.parent() && stands_before(*op, first);
    };
    std::vector<Value*> maps;
    for (RingGroup const& group : groups_)
      for (Ring const& ring : group.rings)
        for (Op const* fetch : ring.sites.front().fetches)
          if (Value* const map = fetch->in<ir::FetchOp>("map");
              by_value(*map) && std::find(maps.begin(), maps.end(), map) == maps.end())
            maps.push_back(map);
    for (Value* map : maps) builder.op(ir::PrefetchTensorMapOp{}, {map}, {});
  }

  static Value* buffer(ir::Builder& builder, Op const& fetch, std::int64_t stages) {
    Type const& tile = fetch.result()->type();
    Extents shape = tile.shape();
    if (std::int64_t const places = places_of_stage(tile); places > 1) shape.insert(0, places);
    shape.insert(0, stages);
    int const size = bytes(tile.element());
    auto const form = layout::shared_form(*tile.layout(), size);
    int const swizzle = form ? form->swizzle_bytes : 0;
    std::string why;
    layout::Layout const* const layout =
        swizzle == 0 ? layout::dense_layout(shape) : layout::swizzled_layout(shape, size, swizzle, why);
    Value* const buffer = builder.value(ir::make_op<ir::BufferAllocOp>(layout::swizzle_alignment(swizzle)), {},
                                        Type::shared(tile.element(), shape, layout));
    buffer->set_name("ring_" + base_name(fetch, "tile"));
    return buffer;
  }

  static Value* barriers(ir::Builder& builder, std::int64_t stages, std::string name) {
    Value* const buffer = builder.value(ir::make_op<ir::BufferAllocOp>(std::int64_t{8}), {}, Type::mbarrier({stages}));
    buffer->set_name(std::move(name));
    return buffer;
  }

  /// Numbers the rings after the ones of the function.
  void number_rings() {
    std::int64_t last = 0;
    ir::walk(function_, [&](Op const& op) {
      if (op.is<ir::ElectOp>()) last = std::max(last, op.as<ir::ElectOp>().ring);
    });
    for (RingGroup& group : groups_)
      for (Ring& ring : group.rings) ring.number = ++last;
  }

  static Value* barrier_of(ir::Builder& builder, Value* barriers, Value* stage) {
    return builder.value(ir::ViewOp{}, {barriers, stage}, Type::mbarrier());
  }

  // ---- filling, waiting, giving back.

  void rewrite(Ring const& ring, FillSite& site) {
    Op& last_fetch = *site.fetches.back();
    ir::Builder builder = ir::Builder::before(last_fetch);
    builder.set_where(last_fetch.where());
    RingSlot const at = slot_of(builder, site.use, ring.stages);
    Value* const full = barrier_of(builder, ring.full, at.stage);
    std::vector<Value*> stages;
    for (std::size_t i = 0; i < site.fetches.size(); ++i) {
      Type const& type = site.fetches[i]->result()->type();
      std::vector<Value*> offsets = {ring.buffers[i], at.stage};
      for (int axis = 1; axis < ring.buffers[i]->type().rank(); ++axis) offsets.push_back(builder.index(0));
      stages.push_back(builder.op(ir::ViewOp{}, offsets, {type}).result());
    }
    fill(builder, ring, site, at, full, stages);
    Op& waits = before_fences(*site.life.first_reader, last_fetch);
    ir::Builder reader = ir::Builder::before(waits);
    reader.set_where(waits.where());
    reader.op(ir::MbarrierWaitOp{}, {full, at.turn}, {});
    // cp.async writes through the generic proxy, and its threads have gone on: whoever has waited fences.
    if (std::any_of(site.fetches.begin(), site.fetches.end(), threads_copy_for_tensor_cores)) {
      ir::FenceProxyAsyncOp fence;
      fence.space = ir::FenceSpace::shared;
      reader.op(fence, {}, {});
    }
    for (std::size_t i = 0; i < site.fetches.size(); ++i) {
      for (Value* index : site.fetches[i]->all<ir::FetchOp>("offsets"))
        if (index->type().is_tile()) indices_.push_back(index);
      ir::replace(*site.fetches[i], stages[i]);
    }
  }

  /// Finds the first of the wgmma fences that stand right before a reader: a wait between fence and product makes ptxas
  /// serialise the products (C7519).
  static Op& before_fences(Op& reader, Op const& fetch) {
    Op* result = &reader;
    for (auto at = reader.parent()->begin(); &*at != &reader; ++at) {
      if (!at->is<ir::WgmmaFenceOp>() || !stands_before(fetch, *at))
        result = &reader;
      else if (result == &reader)
        result = &*at;
    }
    return *result;
  }

  void fill(ir::Builder& builder, Ring const& ring, FillSite const& site, RingSlot const& at, Value* full,
            std::vector<Value*> const& stages) {
    if (site.by_threads()) return fill_by_threads(builder, ring, site, at, full, stages);
    ir::ElectOp filling;
    filling.role = ir::Role::producer;
    filling.ring = ring.number;
    filling.stages = ring.stages;
    Op& elect = builder.op(filling, {}, {});
    ir::Builder inside(elect.add_block());
    inside.set_where(elect.where());
    wait_for_readers(inside, ring, at);
    copy_boxes(inside, ring, site, full, stages);
    inside.op(ir::YieldOp{}, {}, {});
  }

  /// Lets all threads copy boxes and rows; one of their lanes starts the copies of other tiles.
  void fill_by_threads(ir::Builder& builder, Ring const& ring, FillSite const& site, RingSlot const& at, Value* full,
                       std::vector<Value*> const& stages) {
    auto const rows = row_copies(site, stages);
    if (!rows) return;
    ir::FillOp filling;
    filling.ring = ring.number;
    filling.stages = ring.stages;
    Op& all = builder.op(filling, {}, {});
    ir::Builder inside(all.add_block());
    inside.set_where(all.where());
    wait_for_readers(inside, ring, at);
    if (site.by_engine()) {
      Op& elect = inside.op(ir::ElectOp{}, {}, {});
      ir::Builder lane(elect.add_block());
      lane.set_where(elect.where());
      copy_boxes(lane, ring, site, full, stages);
      lane.op(ir::YieldOp{}, {}, {});
    }
    copy_by_threads(inside, site, stages);
    for (RowCopy const& copy : *rows) copy_rows(inside, copy);
    inside.op(ir::CpAsyncArriveOp{}, {full}, {});
    inside.op(ir::YieldOp{}, {}, {});
  }

  /// Holds the operands of a copy of rows at indices.
  struct RowCopy {
    Value* map = nullptr;
    Value* stage = nullptr;
    std::vector<Value*> indices;  ///< in the rows of the layout of chunks
  };

  /// Places the indices of all rows that a site fetches; nothing, with an error, if one cannot be placed.
  std::optional<std::vector<RowCopy>> row_copies(FillSite const& site, std::vector<Value*> const& stages) {
    std::vector<RowCopy> result;
    for (std::size_t i = 0; i < site.fetches.size(); ++i) {
      Op const& fetch = *site.fetches[i];
      if (!fetches_rows(fetch)) continue;
      layout::Layout const& chunks = chunk_layout(fetch.result()->type());
      RowPlaces& places = places_.try_emplace(&chunks, chunks).first->second;
      RowCopy& copy = result.emplace_back();
      copy.map = fetch.in<ir::FetchOp>("map");
      copy.stage = stages[i];
      for (Value* index : fetch.all<ir::FetchOp>("offsets")) {
        Value* const placed = places.of(*index);
        if (placed == nullptr) {
          refuse_fetch(context_, fetch, "rows at indices that follow from " + places.unknown());
          return std::nullopt;
        }
        copy.indices.push_back(placed);
      }
    }
    return result;
  }

  /// Copies the boxes, and the pieces that cover rows, which threads copy.
  static void copy_by_threads(ir::Builder& inside, FillSite const& site, std::vector<Value*> const& stages) {
    for (std::size_t i = 0; i < site.fetches.size(); ++i) {
      Op const& fetch = *site.fetches[i];
      if (!threads_copy(fetch) || fetches_rows(fetch)) continue;
      std::vector<Value*> operands = {fetch.in<ir::FetchOp>("map"), stages[i]};
      auto const offsets = fetch.all<ir::FetchOp>("offsets");
      operands.insert(operands.end(), offsets.begin(), offsets.end());
      if (fetches_pieces(fetch))
        inside.op(ir::CpAsyncCoverOp{}, operands, {});
      else
        inside.op(ir::make_op<ir::CpAsyncOp>(chunk_bytes / bytes(fetch.result()->type().element())), operands, {});
    }
  }

  void copy_rows(ir::Builder& inside, RowCopy const& rows) const {
    Type const& tile = rows.stage->type();
    layout::Layout const& chunks = chunk_layout(tile);
    std::vector<Value*> operands = {rows.map, rows.stage};
    for (Value* index : rows.indices) {
      Type const& type = index->type();
      operands.push_back(
          type.is_tile() ? inside.value(ir::BroadcastOp{}, {index}, Type::tile(type.element(), chunks.shape(), &chunks))
                         : index);
    }
    ir::CpAsyncGatherOp copy;
    copy.vector = chunk_bytes / bytes(tile.element());
    inside.op(copy, operands, {});
  }

  /// Distributes the chunks of rows: lanes along a row first, so that they read adjacent memory. A thread's rows are
  /// adjacent, so that it loads their indices at once. At most one warpgroup copies, as producers are.
  [[nodiscard]] layout::Layout const& chunk_layout(Type const& tile) const {
    Extents const shape = {tile.shape()[0], tile.shape()[1] * bytes(tile.element()) / chunk_bytes};
    auto const power_in = [](std::int64_t value) { return value & -value; };
    std::int64_t const lanes = context_.target.lanes, along = std::min(power_in(shape[1]), lanes);
    std::int64_t const warps = std::min<std::int64_t>(power_in(function_.warps), context_.target.warps_per_group);
    std::int64_t const rows = std::max<std::int64_t>(power_in(shape[0]) / (lanes / along * warps), 1);
    return *layout::Layout::blocked(shape, {rows, 1}, static_cast<int>(warps), {1, 0});
  }

  static void wait_for_readers(ir::Builder& inside, Ring const& ring, RingSlot const& at) {
    if (ring.empty == nullptr) return;
    Value* const empty = barrier_of(inside, ring.empty, at.stage);
    inside.op(ir::MbarrierWaitOp{}, {empty, inside.same(ir::XorOp{}, {at.turn, inside.index(1)})}, {});
  }

  /// Starts the copies of boxes, in one lane.
  void copy_boxes(ir::Builder& inside, Ring const& ring, FillSite const& site, Value* full,
                  std::vector<Value*> const& stages) {
    inside.op(ir::make_op<ir::MbarrierExpectOp>(ring.tile_bytes), {full}, {});
    for (std::size_t i = 0; i < site.fetches.size(); ++i) {
      Op const& fetch = *site.fetches[i];
      if (threads_copy(fetch)) continue;
      std::vector<Value*> operands = {fetch.in<ir::FetchOp>("map"), stages[i], full};
      std::span<Value* const> const offsets = fetch.all<ir::FetchOp>("offsets");
      operands.insert(operands.end(), offsets.begin(), offsets.end());
      ir::TmaLoadOp copy;
      if (std::int64_t const share = fetch.as<ir::FetchOp>().share; share > 1 && ring.share > 1) {
        Type const& tile = fetch.result()->type();
        Extents shape = tile.shape();
        int const axis = *shared_axis(shape, operands[0]->type().shape(), share);
        shape[axis] /= share;
        Value* const part = inside.same(ir::MulOp{}, {rank_, inside.index(shape[axis])});
        std::vector<Value*> place(stages[i]->defining_op()->operands().begin(),
                                  stages[i]->defining_op()->operands().end());
        place[place.size() - static_cast<std::size_t>(tile.rank() - axis)] = part;
        operands[1] = inside.op(ir::ViewOp{}, place, {Type::shared(tile.element(), shape, tile.layout())}).result();
        Value*& offset = operands[operands.size() - static_cast<std::size_t>(tile.rank() - axis)];
        offset = inside.same(ir::AddOp{}, {offset, part});
        copy.multicast = (std::int64_t{1} << share) - 1;
      }
      inside.op(copy, operands, {});
    }
  }

  /// Arrives once per warp at the stage's empty mbarrier, after the last reader of site i's stage.
  static void give_back(Ring const& ring, std::size_t i) {
    if (ring.empty == nullptr) return;
    FillSite const& site = ring.sites[i];
    ir::Builder builder = ir::Builder::after(*site.life.last);
    builder.set_where(site.life.last->where());
    if (!site.life.next_turn) return arrive(builder, ring, site, 0, site.use, nullptr);
    ir::Loop const loop(*site.block().parent_op());
    Value* const not_first = builder.value(ir::make_op<ir::CompareOp>(ir::Predicate::ne),
                                           {loop.counter(), loop.lower()}, Type::scalar(Element::boolean));
    // The use of the iteration before, counted from the first one of this, which alone may stand ahead of this place.
    std::size_t first = ring.sites.size();
    std::int64_t later = 0;  // uses from this one to the loop's end
    for (std::size_t beside = 0; beside < ring.sites.size(); ++beside) {
      if (&ring.sites[beside].block() != &site.block()) continue;
      first = std::min(first, beside);
      later += beside >= i ? 1 : 0;
    }
    arrive(builder, ring, site, 1, builder.same(ir::SubOp{}, {ring.sites[first].use, builder.index(later)}), not_first);
    // The last iteration releases its stage only if a later fill uses the ring again.
    if (i + 1 == ring.sites.size() && ir::loop_around(*loop.op().parent()) == nullptr) return;
    ir::Builder after = ir::Builder::after(*site.life.after);
    after.set_where(site.life.after->where());
    Value* const some = after.value(ir::make_op<ir::CompareOp>(ir::Predicate::lt), {loop.lower(), loop.upper()},
                                    Type::scalar(Element::boolean));
    arrive(after, ring, site, 1, after.same(ir::SubOp{}, {site.use_end, after.index(later)}), some);
  }

  static void arrive(ir::Builder& builder, Ring const& ring, FillSite const& site, std::int64_t lag, Value* use,
                     Value* condition) {
    // The warp's arrive speaks for all of its lanes once they have met.
    if (site.life.generic) builder.op(ir::WarpBarrierOp{}, {}, {});
    ir::ElectOp releasing;
    releasing.warp = -1;
    releasing.role = ir::Role::consumer;
    releasing.ring = ring.number;
    releasing.lag = lag;
    Op& elect = builder.op(releasing, {}, {});
    ir::Builder inside(elect.add_block());
    inside.set_where(elect.where());
    if (condition != nullptr) {
      Op& branch = inside.op(ir::IfOp{}, {condition}, {});
      inside.op(ir::YieldOp{}, {}, {});
      inside = ir::Builder(branch.add_block());
      ir::Builder(branch.add_block()).op(ir::YieldOp{}, {}, {});
      inside.set_where(elect.where());
    }
    RingSlot const at = slot_of(inside, use, ring.stages);
    Value* const empty = barrier_of(inside, ring.empty, at.stage);
    if (ring.share == 1) inside.op(ir::MbarrierArriveOp{}, {empty}, {});
    ir::MbarrierArriveOp remote;
    remote.relaxed = true;
    for (std::int64_t rank = 0; rank < ring.share && ring.share > 1; ++rank)
      inside.op(remote, {empty, inside.index(rank)}, {});
    inside.op(ir::YieldOp{}, {}, {});
  }

  ir::Function& function_;
  PassContext& context_;
  std::vector<RingGroup> groups_;
  std::map<layout::Layout const*, RowPlaces> places_;  ///< of indices, by the layout of the chunks
  std::vector<Value*> indices_;                        ///< of rows, as they were before
  Value* rank_ = nullptr;                              ///< of the CTA in its cluster; null: no ring is shared
};

}  // namespace

PassResult circular_buffer(ir::Function& function, PassContext& context) {
  if (!function.is_kernel()) return PassResult::unchanged;
  return result_of(Rings(function, context).run());
}

}  // namespace tegula::transform

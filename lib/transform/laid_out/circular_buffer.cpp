#include "transform/laid_out/circular_buffer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <span>
#include <utility>

#include "analysis/kernel_paths.hpp"
#include "ir/core/builder.hpp"
#include "ir/core/loop.hpp"
#include "ir/core/rewrite.hpp"
#include "ir/core/walk.hpp"
#include "ir/memory/accesses.hpp"
#include "ir/memory/exchange.hpp"
#include "ir/memory/shared_frame.hpp"
#include "ir/text/text.hpp"
#include "ir/values/trip_count.hpp"
#include "layout/shared_layouts.hpp"
#include "support/string_buffer.hpp"
#include "transform/common/dead_code.hpp"
#include "transform/common/fetches.hpp"
#include "transform/common/loop_regions.hpp"
#include "transform/common/ring_lifetimes.hpp"
#include "transform/laid_out/row_places.hpp"

namespace tegula::transform {
namespace {

using ir::Block;
using ir::Op;
using ir::Type;
using ir::Value;

bool by_threads(Op const* fetch) { return threads_copy(*fetch); }

bool read_by_tensor_cores(Value const& view) {
  return std::any_of(view.uses().begin(), view.uses().end(), [](ir::Use const& use) {
    bool const moved = use.user->is<ir::ViewOp>() || use.user->is<ir::TransViewOp>();
    return use.user->is<ir::WgmmaOp>() || (moved && read_by_tensor_cores(*use.user->result()));
  });
}
bool threads_copy_for_tensor_cores(Op const* fetch) {
  return by_threads(fetch) && read_by_tensor_cores(*fetch->result());
}

/// Describes a place where a ring is filled: fetches of one block that fill one stage together, one per buffer of the
/// ring.
struct FillSite {
  std::vector<Op*> fetches;
  StageLifetime life;
  Value* use = nullptr;      ///< which use of the ring this is
  Value* use_end = nullptr;  ///< after the loop whose body holds the site: the use that would come next
  [[nodiscard]] Block& block() const { return *fetches.front()->parent(); }
  /// Tells whether all threads fill the stage, since they copy boxes or rows of it.
  [[nodiscard]] bool has_threads() const { return std::any_of(fetches.begin(), fetches.end(), by_threads); }
  /// Tells whether one lane starts copies of the TMA engine.
  [[nodiscard]] bool by_engine() const { return !std::all_of(fetches.begin(), fetches.end(), by_threads); }
};

struct Ring {
  std::vector<FillSite> sites;  ///< in the order of the text
  std::int64_t number = 0;      ///< that marks the ring's regions
  std::int64_t stages = 1;
  std::int64_t stage_bytes = 0;  ///< of shared memory
  std::int64_t tile_bytes = 0;   ///< that the TMA engine brings: a stage may have padding behind each tile
  std::vector<Value*> buffers;
  Value* full = nullptr;
  Value* empty = nullptr;  ///< null: a stage is filled once
  std::int64_t share = 1;  ///< CTAs of the cluster that fill each other's stages, and release them to each other
  [[nodiscard]] bool repeats() const { return sites.size() > 1 || ir::loop_around(sites.front().block()) != nullptr; }
  /// Counts the stages that the loops around the sites ask for, or need for their distance; 0: they leave it open.
  /// `max_chosen`: stages of a loop that several sites share.
  [[nodiscard]] std::int64_t requested_stages(std::int64_t max_chosen) const {
    std::int64_t max = repeats() ? 0 : 1;
    for (FillSite const& site : sites)
      if (Op const* const loop = ir::loop_around(site.block()))
        max = std::max(max, std::min(transform::requested_stages(*loop) * sites_beside(site),
                                     std::max(transform::requested_stages(*loop), max_chosen)));
    return max;
  }
  /// Counts the sites of a site's block: so many uses an iteration.
  [[nodiscard]] std::int64_t sites_beside(FillSite const& site) const {
    return std::count_if(sites.begin(), sites.end(),
                         [&](FillSite const& other) { return &other.block() == &site.block(); });
  }
  /// Counts the stages that earlier sites of the block still hold when this one is filled.
  [[nodiscard]] std::int64_t held_before(FillSite const& site) const {
    std::int64_t held = 0;
    for (FillSite const& other : sites) {
      if (&other.block() != &site.block() || &other == &site) continue;
      bool const earlier = stands_before(*other.fetches.front(), *site.fetches.front());
      Op const& last = *other.life.last;
      bool const ends_later = &last != site.fetches.front() && stands_before(*site.fetches.front(), last);
      held += (earlier ? ends_later || other.life.next_turn : other.life.next_turn && ends_later) ? 1 : 0;
    }
    return held;
  }
  /// Tells whether a loop around the sites takes its number of stages or none.
  [[nodiscard]] bool exact() const {
    return std::any_of(sites.begin(), sites.end(), [](FillSite const& site) {
      Op const* const loop = ir::loop_around(site.block());
      return loop != nullptr && loop->as<ir::ForOp>().exactly;
    });
  }
};

/// Rings whose sites stand in the same blocks; they share a counter of uses.
struct RingGroup {
  std::vector<Ring> rings;
  [[nodiscard]] std::vector<Block*> blocks() const {
    std::vector<Block*> result;
    for (FillSite const& site : rings.front().sites) result.push_back(&site.block());
    return result;
  }
};

std::string base_name(Op const& fetch, char const* otherwise) {
  return fetch.result()->name().empty() ? otherwise : fetch.result()->name();
}

class Rings {
 public:
  Rings(ir::Function& function, PassContext& context) : function_(function), context_(context) {}

  bool run() {
    if (!find() || groups_.empty()) return erased_;
    if (!choose_depths()) return false;
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
  // ---- find: which fetches share a ring.

  bool find() {
    std::vector<Op*> fetches;
    ir::walk_pre_order(function_, [&](Op& op) {
      if (op.is<ir::FetchOp>()) fetches.push_back(&op);
      return ir::Walk::advance;
    });
    std::vector<Ring> lines;                      // each of one buffer
    std::map<std::int64_t, std::size_t> line_of;  // by the fetches' number
    for (Op* fetch : fetches) {
      StageLifetime const life = stage_lifetime(*fetch);
      if (life.first_reader == nullptr && life.error.empty()) {  // nobody reads it
        fetch->erase();
        erased_ = true;
        continue;
      }
      if (!life.error.empty()) return refuse(*fetch, life.error);
      for (Op* at = fetch->parent_op(); at != nullptr; at = at->parent_op())
        if (!at->is<ir::ForOp>() && !at->is<ir::IfOp>())
          return refuse(
              *fetch, "a fetch inside " + std::string(at->info().mnemonic) + ", which cannot carry a counter of uses");
      std::int64_t const number = fetch->as<ir::FetchOp>().ring;
      auto const [known, first] = line_of.try_emplace(number, lines.size());
      if (first || number == 0)
        lines.emplace_back().sites.push_back({{fetch}, life});
      else if (Op const& other = *lines[known->second].sites.front().fetches.front();
               other.result()->type() != fetch->result()->type() || threads_copy(other) != threads_copy(*fetch))
        return refuse(*fetch, fmt::format("fetches of ring {} differ in type", number));
      else
        lines[known->second].sites.push_back({{fetch}, life});
    }
    for (Ring& line : lines) place(std::move(line));
    return true;
  }

  bool refuse(Op const& fetch, std::string const& why) {
    context_.diagnostics.error("circular-buffer: " + why, fetch.where());
    return false;
  }

  void place(Ring line) {
    RingGroup fresh;
    fresh.rings.push_back(std::move(line));
    for (RingGroup& group : groups_) {
      if (group.blocks() != fresh.blocks()) continue;
      for (Ring& ring : group.rings)
        if (joinable(ring, fresh.rings.front())) {
          for (std::size_t i = 0; i < ring.sites.size(); ++i)
            ring.sites[i].fetches.push_back(fresh.rings.front().sites[i].fetches.front());
          return;
        }
      group.rings.push_back(std::move(fresh.rings.front()));
      return;
    }
    groups_.push_back(std::move(fresh));
  }

  /// Tells whether the buffers of `line` are read and released where the ring's stages are, and can be filled together
  /// with them.
  static bool joinable(Ring const& ring, Ring const& line) {
    for (std::size_t i = 0; i < ring.sites.size(); ++i) {
      FillSite const &site = ring.sites[i], &other = line.sites[i];
      auto const unused_yet = [&](Op const* earlier) {
        auto const& uses = earlier->result()->uses();
        return std::all_of(uses.begin(), uses.end(), [&](ir::Use const& use) {
          return stands_before(*other.fetches.front(), *ancestor_in(*use.user, site.block()));
        });
      };
      if (site.life.first_reader != other.life.first_reader || site.life.last != other.life.last ||
          site.life.next_turn != other.life.next_turn || site.life.behind != other.life.behind ||
          site.life.generic != other.life.generic || !std::all_of(site.fetches.begin(), site.fetches.end(), unused_yet))
        return false;
    }
    return true;
  }

  // ---- decide: how many stages.

  /// Tells whether some site has no loop with fetches beside it in its block.
  [[nodiscard]] bool innermost(Ring const& ring) const {
    auto const holds_a_loop = [&](Block const& block) {
      for (RingGroup const& group : groups_)
        for (Block const* other : group.blocks())
          for (Op* at = other->parent_op(); at != nullptr; at = at->parent_op())
            if (at->parent() == &block && at->is<ir::ForOp>()) return true;
      return false;
    };
    return std::any_of(ring.sites.begin(), ring.sites.end(),
                       [&](FillSite const& site) { return !holds_a_loop(site.block()); });
  }

  /// Counts the CTAs that fill each other's stages: only where products alone read them, and every site takes a part
  /// from each peer. Waits for products end their reads, so that a release need not order any; ordinary reads would
  /// need a fence that a peer's copy waits for. A peer sends its part after its wait for the stage, so whoever waited
  /// for the part releases in the peer's next phase. Without a part, the release could come a phase too early.
  static std::int64_t shared_by(Ring const& ring) {
    std::int64_t all = 1;
    for (FillSite const& site : ring.sites) {
      std::int64_t share = 1;
      for (Op const* fetch : site.fetches) share = std::max(share, fetch->as<ir::FetchOp>().share);
      if (site.life.generic || share == 1 || site.has_threads()) return 1;
      all = std::max(all, share);
    }
    return all;
  }

  static std::int64_t min_stages(Ring const& ring) {
    std::int64_t max = 1;
    for (FillSite const& site : ring.sites)
      max = std::max(max, transform::min_stages(site.life) + ring.held_before(site));
    return max;
  }

  /// Waits in the same iteration for the products that read the ring, where they stayed open into the next: one stage
  /// is enough then.
  static void close_products(Ring& ring) {
    for (FillSite& site : ring.sites) {
      if (!site.life.next_turn) continue;
      site.life.last->as<ir::WgmmaWaitOp>().pending = 0;
      site.life = stage_lifetime(*site.fetches.front());
    }
  }

  /// Chooses depths that the kernel leaves open. Rings of innermost loops come first, so that they never wait for long;
  /// then a second stage for the next iteration of an outer loop.
  bool choose_depths() {
    std::vector<Ring*> inner, outer;
    std::int64_t total = bytes_beside_rings(function_, context_.target), scratch = 0;
    ir::walk(function_, [&](Op& op) { scratch = std::max(scratch, ir::scratch_bytes(op)); });
    total += scratch;
    for (RingGroup& group : groups_)
      for (Ring& ring : group.rings) {
        for (Op const* fetch : ring.sites.front().fetches) {
          Type const& type = fetch->result()->type();
          ring.stage_bytes += transform::stage_bytes(type);
          if (!threads_copy(*fetch)) ring.tile_bytes += type.elements() * bytes(type.element());
        }
        std::int64_t const asked = enough_stages(ring);
        ring.share = shared_by(ring);
        if (ring.exact() && asked < min_stages(ring)) close_products(ring);
        ring.stages = std::max(asked, min_stages(ring));
        if (!ring.exact()) shrink(ring);
        if (asked == 0) (innermost(ring) ? inner : outer).push_back(&ring);
        if (!fits(ring)) return false;
        total += ring.stages * ring.stage_bytes;
      }
    while (total > context_.target.shared && save_a_stage(total)) {
    }
    auto const deepen = [&](std::vector<Ring*> const& rings, std::int64_t max) {
      for (std::int64_t depth = 2; depth <= max; ++depth)
        for (Ring* ring : rings) {
          if (ring->stages >= depth || total + ring->stage_bytes > context_.target.shared) continue;
          total += ring->stage_bytes;
          ring->stages = depth;
        }
    };
    deepen(inner, context_.target.tuning.max_stages);
    deepen(outer, 2);
    return true;
  }

  /// Takes stages from a ring until it fits alone; the last one by closing its products.
  void shrink(Ring& ring) {
    std::int64_t const fitting = context_.target.shared / ring.stage_bytes;
    if (ring.stages > fitting && fitting < min_stages(ring)) close_products(ring);
    ring.stages = std::max(std::min(ring.stages, fitting), min_stages(ring));
  }

  /// Takes a stage from the deepest ring that can lose one, of equal ones the largest; if none can, from one whose
  /// products then end in the same iteration. False: all have their fewest.
  bool save_a_stage(std::int64_t& total) {
    Ring* found = nullptr;
    for (bool const closing : {false, true}) {
      for (RingGroup& group : groups_)
        for (Ring& ring : group.rings) {
          bool const can_lose = ring.stages > min_stages(ring) || (closing && ring.stages > 1 && stays_open(ring));
          bool const better = found == nullptr || ring.stages > found->stages ||
                              (ring.stages == found->stages && ring.stage_bytes > found->stage_bytes);
          if (!ring.exact() && can_lose && better) found = &ring;
        }
      if (found != nullptr) break;
    }
    if (found == nullptr) return false;
    if (found->stages == min_stages(*found)) close_products(*found);
    if (found->stages == min_stages(*found)) return false;
    --found->stages;
    total -= found->stage_bytes;
    return true;
  }

  static bool stays_open(Ring const& ring) {
    return std::any_of(ring.sites.begin(), ring.sites.end(), [](FillSite const& site) { return site.life.next_turn; });
  }

  /// Chooses as many stages as asked for, but no more than the only loop that fills them has iterations, where that is
  /// known.
  std::int64_t enough_stages(Ring const& ring) {
    std::int64_t const asked = ring.requested_stages(context_.target.tuning.max_stages);
    Op const* const loop = ir::loop_around(ring.sites.front().block());
    if (loop == nullptr || ring.sites.size() > 1 || ir::loop_around(*loop->parent()) != nullptr) return asked;
    auto const known = ir::trip_count(*loop);
    if (!known) return asked;
    std::int64_t const trips = std::max<std::int64_t>(*known, 1);
    if (trips >= asked) return asked;
    context_.diagnostics.remark(
        fmt::format("circular-buffer: {} stages are requested, but the loop runs {} times; it gets as many stages",
                    asked, trips),
        loop->where());
    return trips;
  }

  bool fits(Ring const& ring) {
    std::int64_t const needed = ring.stages * ring.stage_bytes;
    if (needed <= context_.target.shared) return true;
    std::vector<std::string> names;
    for (Op const* fetch : ring.sites.front().fetches)
      names.push_back(analysis::name_of_memory(ir::tensor_of(*fetch->in<ir::FetchOp>("map"))));
    return refuse(
        *ring.sites.front().fetches.front(),
        fmt::format("{} stages of {} bytes ({}) need {} bytes of shared memory, {} allowed; at most {} stages fit",
                    ring.stages, ring.stage_bytes, support::joined(names, ", "), needed, context_.target.shared,
                    context_.target.shared / ring.stage_bytes));
  }

  // ---- rewrite: buffers and barriers before everything that has an effect.

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
    if (shares()) keep_cluster(builder);
  }

  [[nodiscard]] bool shares() const {
    return std::any_of(groups_.begin(), groups_.end(), [](RingGroup const& group) {
      return std::any_of(group.rings.begin(), group.rings.end(), [](Ring const& ring) { return ring.share > 1; });
    });
  }

  /// Lets the CTAs of the cluster meet before one sends to another, and before one ends to which another may send.
  void keep_cluster(ir::Builder& builder) {
    builder.op(ir::ClusterArriveOp{}, {}, {});
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
    return (site.by_engine() ? 1 : 0) + (site.has_threads() ? function_.warps * context_.target.lanes : 0);
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

  // ---- rewrite: the counter of uses.

  void count_uses(RingGroup& group) {
    if (!group.rings.front().repeats()) {
      for (Ring& ring : group.rings)
        ring.sites.front().use = ir::Builder::before(*ring.sites.front().fetches.front()).index(0);
      return;
    }
    Op* first = group.rings.front().sites.front().fetches.front();
    while (first->parent_op() != nullptr) first = first->parent_op();
    std::size_t next = 0;
    (void)count(group, function_.body(), ir::Builder::before(*first).index(0), next);
  }

  /// Hands the counter through a block that holds the sites from `next` on; returns it as it is at the block's end.
  static Value* count(RingGroup& group, Block& block, Value* use, std::size_t& next) {
    auto const& blocks = std::as_const(group).blocks();
    std::int64_t passed = 0;  // sites of this block since `use`
    auto const now = [&](Op& at) {
      if (passed == 0) return use;
      ir::Builder builder = ir::Builder::before(at);
      return builder.same(ir::AddOp{}, {use, builder.index(passed)});
    };
    while (next < blocks.size()) {
      Op* const holder = holder_in(*blocks[next], block);
      if (blocks[next] == &block) {
        Op* first = group.rings.front().sites[next].fetches.front();
        for (Ring const& ring : group.rings)
          for (Op* fetch : ring.sites[next].fetches)
            if (stands_before(*fetch, *first)) first = fetch;
        Value* const here = now(*first);
        for (Ring& ring : group.rings) ring.sites[next].use = here;
        ++passed, ++next;
      } else if (holder != nullptr) {
        use = count_through(group, *holder, now(*holder), next);
        passed = 0;
      } else {
        break;
      }
    }
    return block.parent_op() == nullptr ? use : now(block.back());
  }

  static Value* count_through(RingGroup& group, Op& holder, Value* use, std::size_t& next) {
    std::size_t const first = next;
    if (holder.is<ir::ForOp>())
      use = ir::Loop(holder).add_carry(use, "use");
    else
      holder.add_result(Type::index());
    Value* const result = holder.result(holder.result_count() - 1);
    for (int b = 0; b < holder.block_count(); ++b)
      holder.block(b).back().add_operand(count(group, holder.block(b), use, next));
    if (holder.is<ir::ForOp>())
      for (Ring& ring : group.rings)
        for (std::size_t i = first; i < next; ++i)
          if (&ring.sites[i].block() == &holder.block()) ring.sites[i].use_end = result;
    return result;
  }

  /// Finds the op of `outer` that holds the block; null: none does.
  static Op* holder_in(Block const& block, Block const& outer) {
    Op* at = block.parent_op();
    while (at != nullptr && at->parent() != &outer) at = at->parent_op();
    return at;
  }

  /// Holds use mod stages and use div stages.
  struct Slot {
    Value* stage;
    Value* turn;
  };
  static Slot slot(ir::Builder& builder, Value* use, std::int64_t stages) {
    if (stages == 1) return {builder.index(0), use};
    if (!std::has_single_bit(static_cast<std::uint64_t>(stages))) {
      Value* const count = builder.index(stages);
      return {builder.same(ir::RemOp{}, {use, count}), builder.same(ir::DivOp{}, {use, count})};
    }
    return {builder.same(ir::AndOp{}, {use, builder.index(stages - 1)}),
            builder.same(ir::ShrOp{}, {use, builder.index(std::countr_zero(static_cast<std::uint64_t>(stages)))})};
  }
  static Value* barrier_of(ir::Builder& builder, Value* barriers, Value* stage) {
    return builder.value(ir::ViewOp{}, {barriers, stage}, Type::mbarrier());
  }

  // ---- rewrite: filling, waiting, giving back.

  void rewrite(Ring const& ring, FillSite& site) {
    Op& last_fetch = *site.fetches.back();
    ir::Builder builder = ir::Builder::before(last_fetch);
    builder.set_where(last_fetch.where());
    Slot const at = slot(builder, site.use, ring.stages);
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

  void fill(ir::Builder& builder, Ring const& ring, FillSite const& site, Slot const& at, Value* full,
            std::vector<Value*> const& stages) {
    if (site.has_threads()) return fill_by_threads(builder, ring, site, at, full, stages);
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
  void fill_by_threads(ir::Builder& builder, Ring const& ring, FillSite const& site, Slot const& at, Value* full,
                       std::vector<Value*> const& stages) {
    std::vector<std::vector<Value*>> copies;  // operands
    for (std::size_t i = 0; i < site.fetches.size(); ++i) {
      Op const& fetch = *site.fetches[i];
      if (!threads_copy(fetch)) continue;
      Type const& tile = fetch.result()->type();
      if (!fetches_rows(fetch)) {
        std::span<Value* const> const offsets = fetch.all<ir::FetchOp>("offsets");
        copies.push_back({fetch.in<ir::FetchOp>("map"), stages[i]});
        copies.back().insert(copies.back().end(), offsets.begin(), offsets.end());
        continue;
      }
      layout::Layout const& chunks = chunk_layout(tile);
      RowPlaces& places = places_.try_emplace(&chunks, chunks).first->second;
      std::vector<Value*>& operands = copies.emplace_back();
      operands = {fetch.in<ir::FetchOp>("map"), stages[i]};
      for (Value* index : fetch.all<ir::FetchOp>("offsets")) {
        Value* const placed = places.of(*index);
        if (placed == nullptr) {
          refuse(fetch, "rows at indices that follow from " + places.unknown());
          return;
        }
        operands.push_back(placed);
      }
    }
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
    for (std::vector<Value*>& operands : copies) {
      Type const& tile = operands[1]->type();
      std::int64_t const vector = chunk_bytes / bytes(tile.element());
      bool const of_rows =
          std::any_of(operands.begin() + 2, operands.end(), [](Value const* index) { return index->type().is_tile(); });
      if (!of_rows) {
        inside.op(ir::make_op<ir::CpAsyncOp>(vector), operands, {});
        continue;
      }
      ir::CpAsyncGatherOp copy;
      copy.vector = vector;
      layout::Layout const& chunks = chunk_layout(tile);
      for (std::size_t i = 2; i < operands.size(); ++i)
        if (operands[i]->type().is_tile())
          operands[i] = inside.value(ir::BroadcastOp{}, {operands[i]},
                                     Type::tile(operands[i]->type().element(), chunks.shape(), &chunks));
      inside.op(copy, operands, {});
    }
    inside.op(ir::CpAsyncArriveOp{}, {full}, {});
    inside.op(ir::YieldOp{}, {}, {});
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

  static void wait_for_readers(ir::Builder& inside, Ring const& ring, Slot const& at) {
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
    ir::Builder behind = ir::Builder::after(*site.life.behind);
    behind.set_where(site.life.behind->where());
    Value* const some = behind.value(ir::make_op<ir::CompareOp>(ir::Predicate::lt), {loop.lower(), loop.upper()},
                                     Type::scalar(Element::boolean));
    arrive(behind, ring, site, 1, behind.same(ir::SubOp{}, {site.use_end, behind.index(later)}), some);
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
    Slot const at = slot(inside, use, ring.stages);
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
  bool erased_ = false;
};

}  // namespace

PassResult circular_buffer(ir::Function& function, AnalysisCache&, PassContext& context) {
  if (!function.is_kernel()) return PassResult::unchanged;
  return result_of(Rings(function, context).run());
}

}  // namespace tegula::transform

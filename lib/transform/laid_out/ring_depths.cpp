#include "transform/laid_out/ring_depths.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "analysis/kernel_paths.hpp"
#include "ir/core/loop.hpp"
#include "ir/core/walk.hpp"
#include "ir/memory/accesses.hpp"
#include "ir/memory/exchange.hpp"
#include "ir/memory/shared_frame.hpp"
#include "ir/values/trip_count.hpp"
#include "support/string_buffer.hpp"
#include "transform/common/fetches.hpp"

namespace tegula::transform {
namespace {

using ir::Block;
using ir::Op;
using ir::Type;

/// Deals shared memory to the rings of a kernel.
class Depths {
 public:
  Depths(std::vector<RingGroup>& groups, ir::Function& function, PassContext& context)
      : groups_(groups), function_(function), context_(context) {}

  /// Chooses depths that the kernel leaves open. Rings of innermost loops come first, so that they never wait for long;
  /// then a second stage for the next iteration of an outer loop.
  bool choose() {
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

 private:
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
      if (site.life.generic || share == 1 || site.by_threads()) return 1;
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
        fmt::format("circular-buffer: {} stages are requested, but the loop runs {} times; the ring gets {} stage{}",
                    asked, trips, trips, trips == 1 ? "" : "s"),
        loop->where());
    return trips;
  }

  bool fits(Ring const& ring) {
    std::int64_t const needed = ring.stages * ring.stage_bytes;
    if (needed <= context_.target.shared) return true;
    std::vector<std::string> names;
    for (Op const* fetch : ring.sites.front().fetches)
      names.push_back(analysis::name_of_memory(ir::tensor_of(*fetch->in<ir::FetchOp>("map"))));
    refuse_fetch(
        context_, *ring.sites.front().fetches.front(),
        fmt::format("{} stages of {} bytes ({}) need {} bytes of shared memory, {} allowed; at most {} stages fit",
                    ring.stages, ring.stage_bytes, support::joined(names, ", "), needed, context_.target.shared,
                    context_.target.shared / ring.stage_bytes));
    return false;
  }

  std::vector<RingGroup>& groups_;
  ir::Function& function_;
  PassContext& context_;
};

}  // namespace

bool choose_depths(std::vector<RingGroup>& groups, ir::Function& function, PassContext& context) {
  return Depths(groups, function, context).choose();
}

}  // namespace tegula::transform

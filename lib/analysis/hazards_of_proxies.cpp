// Fences between ordinary accesses and the asynchronous proxy: the part of Hazards that looks for those.
#include <algorithm>

#include "analysis/hazards.hpp"
#include "ir/core/walk.hpp"

namespace tegula::analysis {

using namespace ir;

void Hazards::fence(Op const& op, State& state) {
  FenceSpace const space = op.as<FenceProxyAsyncOp>().space;
  std::int64_t const elected = elected_around(op);
  for (Pending& pending : state) {
    if (pending.access == nullptr || pending.open || (pending.outside && context_.partition != nullptr)) continue;
    bool const reaches =
        space == FenceSpace::all || (space == FenceSpace::shared) == (pending.access->space == Space::shared);
    bool const own = elected == Access::not_elected || pending.access->elected == elected;
    if (reaches && own) pending.fenced = true;
  }
}

std::optional<Level> Hazards::fence_level(Pending const& pending, Access const& later) {
  Access const& earlier = *pending.access;
  if (!pending.outside) return accesses_.relation(earlier, later, pending.when(), context_.warps);
  bool const conflicts = hazard_kind(earlier, later) && accesses_.touch(earlier, later);
  return conflicts ? std::optional(Level::group) : std::nullopt;
}

std::set<Op const*> Hazards::missing_fences(Pending const& pending, Access const& later, Level level, Op const& at) {
  if (level == Level::none) return pending.fenced ? std::set<Op const*>{} : std::set<Op const*>{&at};
  if (pending.known >= level) {
    if (pending.fence_known >= level) return {};
    return level == Level::warp        ? pending.met_warp
           : level == Level::warpgroup ? pending.met_warpgroup
                                       : pending.met_group;
  }
  bool const acquired = pending.acquired != Access::not_elected && pending.acquired == later.elected;
  return acquired && pending.fence_acquired != later.elected ? pending.acquired_from : std::set<Op const*>{};
}

void Hazards::access_by_proxy(Access const& later, Op const& at, State& state) {
  for (Pending const& pending : state) {
    if (later.proxy != Proxy::async || pending.access == nullptr || pending.open) continue;
    std::optional<Level> const level = fence_level(pending, later);
    if (!level) continue;
    std::set<Op const*> const places = missing_fences(pending, later, *level, at);
    if (!places.empty() && !unfenced_) unfenced_ = {pending.access, &later, {places.begin(), places.end()}};
  }
  // Overwritten bytes no longer need their fence.
  if (later.write)
    std::erase_if(state, [&](Pending const& pending) {
      return pending.access != nullptr && !pending.open && !pending.outside &&
             SharedAccesses::covers(later, *pending.access, pending.turn);
    });
}

Access const* Hazards::taken_over(Access const& access, Op const& mbarriers) {
  if (context_.partition == nullptr) return nullptr;
  Op const& specialize = *context_.partition->parent_op();
  for (int p = 0; p < specialize.block_count(); ++p) {
    Block& other = specialize.block(p);
    if (&other == context_.partition) continue;
    bool waits = false;
    Access const* found = nullptr;
    walk_pre_order(other, [&](Op& op) {
      if (op.is<MbarrierWaitOp>()) {
        auto const waited = buffers_of(*mbarrier_of(op));
        waits = waits || std::find(waited.begin(), waited.end(), &mbarriers) != waited.end();
      }
      for (Access const& later : accesses_.of(op)) {
        bool const conflicts = later.proxy == Proxy::async && hazard_kind(access, later);
        if (found == nullptr && conflicts && accesses_.touch(access, later)) found = &later;
      }
      return Walk::advance;
    });
    if (waits && found != nullptr) return found;
  }
  return nullptr;
}

}  // namespace tegula::analysis

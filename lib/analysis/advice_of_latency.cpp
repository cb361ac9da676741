#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "abi/path_rows.hpp"
#include "analysis/advice_rules.hpp"

namespace tegula::analysis {
namespace {

using Kind = SlowSpot::Kind;
using ir::OpKind;

/// Finds loops and processors that wait.
class Waits {
 public:
  explicit Waits(AdvisedLaunch& launch) : launch_(launch) {}

  void loops() {
    std::vector<bool> copied(launch_.best.rings.size()), named(launch_.best.rings.size());
    for (WorkOfOp const& op : launch_.best.ops) {
      if (op.kind != OpKind::LoadOp || op.ring < 0) continue;
      for (RingDepth const& ring : launch_.about.paths.rings)
        if (abi::same_line(ring.where, op.where)) {
          auto const number = static_cast<std::size_t>(op.ring);
          if (!copied[number] && ring.used < ring.written) shallow(number, op, ring);
          copied[number] = true;
        }
    }
    for (WorkOfOp const& op : launch_.best.ops) {
      if (op.kind != OpKind::LoadOp || op.ring < 0) continue;
      auto const number = static_cast<std::size_t>(op.ring);
      if (copied[number] || named[number]) continue;
      LoweredAccess const access = lowered_access(launch_.about, op);
      if (access.row == nullptr || access.row->path != Path::pointer || access.rule != nullptr) continue;
      if (launch_.about.estimate.rings[number].stages > 1) continue;
      named[number] = true;
      launch_.lose(Kind::no_stages, op.where, launch_.name_of(op),
                   fmt::format("load of `{}` is waited for in each of {:.0f} iterations", launch_.name_of(op),
                               launch_.about.estimate.rings[number].trips),
                   "give the loop stages<4>", [number](Estimate& launch) {
                     launch.rings[number].stages = std::max(launch.rings[number].stages, 2.0);
                   });
    }
  }

  void blocks() {
    double const count = static_cast<double>(launch_.best.blocks) * launch_.best.split, all = launch_.about.processors;
    double const waves = turns(count, all), busy = count / (waves * all);
    bool const multiplies = launch_.best.product_bytes > 0;
    if (busy < 1 && waves < 8) launch_.even = busy;
    if (launch_.even < 1) {
      char const* const processors = launch_.about.target != nullptr ? "multiprocessors" : "threads";
      std::string const what =
          count < all ? fmt::format("{:.0f} {} {:.0f} of {:.0f} {} idle", count,
                                    count == 1 ? "block leaves" : "blocks leave", all - count, all, processors)
                      : fmt::format("{:.0f} blocks keep {:.0f} {} busy in {:.0f} % of {:.0f} turns", count, all,
                                    processors, busy * 100, waves);
      launch_.grid = SlowSpot{Kind::grid, launch_.about.where, "", what,
                              multiplies && !launch_.best.rings.empty() && launch_.about.target != nullptr
                                  ? "take smaller tiles, or let CTAs share the loop of a product (split)"
                                  : "take smaller tiles"};
    }
    double const moved = launch_.best.loaded_bytes + launch_.best.stored_bytes;
    if (launch_.about.target != nullptr && waves >= 8 && launch_.best.rings.empty() && !multiplies) {
      launch_.small = SlowSpot{Kind::small_blocks, launch_.about.where, "",
                               fmt::format("{:.0f} blocks move {:.1f} KB each", count, moved / 1024),
                               "take larger tiles: 16 KB or more of a block"};
    }
  }

 private:
  void shallow(std::size_t number, WorkOfOp const& op, RingDepth const& ring) {
    launch_.lose(Kind::shallow_ring, op.where, ring.memory,
                 fmt::format("the ring of `{}` has {} of {} stages ({} bytes each)", ring.memory, ring.used,
                             ring.written, ring.stage_bytes),
                 "take tiles of fewer bytes a stage", [number, used = std::max(ring.used, 2)](Estimate& launch) {
                   Ring& loop = launch.rings[number];
                   loop.stages = loop.stages > 1 ? std::min<double>(loop.stages, used) : used;
                 });
  }

  AdvisedLaunch& launch_;
};

}  // namespace

void find_waiting_loops(AdvisedLaunch& launch) { Waits(launch).loops(); }
void find_idle_processors(AdvisedLaunch& launch) { Waits(launch).blocks(); }

}  // namespace tegula::analysis

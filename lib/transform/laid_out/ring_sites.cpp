#include "transform/laid_out/ring_sites.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "ir/core/loop.hpp"
#include "ir/core/walk.hpp"
#include "transform/common/fetches.hpp"

namespace tegula::transform {
namespace {

using ir::Block;
using ir::Op;

bool copied_by_threads(Op const* fetch) { return threads_copy(*fetch); }

/// Groups fetches whose tiles live alike.
class Finder {
 public:
  Finder(ir::Function& function, PassContext& context, bool& erased)
      : function_(function), context_(context), erased_(erased) {}

  /// False: a fetch is refused.
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
  std::vector<RingGroup> groups() { return std::move(groups_); }

 private:
  bool refuse(Op const& fetch, std::string const& why) {
    refuse_fetch(context_, fetch, why);
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
          site.life.next_turn != other.life.next_turn || site.life.after != other.life.after ||
          site.life.generic != other.life.generic || !std::all_of(site.fetches.begin(), site.fetches.end(), unused_yet))
        return false;
    }
    return true;
  }

  ir::Function& function_;
  PassContext& context_;
  bool& erased_;
  std::vector<RingGroup> groups_;
};

}  // namespace

bool FillSite::by_threads() const { return std::any_of(fetches.begin(), fetches.end(), copied_by_threads); }
bool FillSite::by_engine() const { return !std::all_of(fetches.begin(), fetches.end(), copied_by_threads); }

bool Ring::repeats() const { return sites.size() > 1 || ir::loop_around(sites.front().block()) != nullptr; }

std::int64_t Ring::requested_stages(std::int64_t max_chosen) const {
  std::int64_t max = repeats() ? 0 : 1;
  for (FillSite const& site : sites)
    if (Op const* const loop = ir::loop_around(site.block()))
      max = std::max(max, std::min(transform::requested_stages(*loop) * sites_beside(site),
                                   std::max(transform::requested_stages(*loop), max_chosen)));
  return max;
}

std::int64_t Ring::sites_beside(FillSite const& site) const {
  return std::count_if(sites.begin(), sites.end(),
                       [&](FillSite const& other) { return &other.block() == &site.block(); });
}

std::int64_t Ring::held_before(FillSite const& site) const {
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

bool Ring::exact() const {
  return std::any_of(sites.begin(), sites.end(), [](FillSite const& site) {
    Op const* const loop = ir::loop_around(site.block());
    return loop != nullptr && loop->as<ir::ForOp>().exactly;
  });
}

std::vector<Block*> RingGroup::blocks() const {
  std::vector<Block*> result;
  for (FillSite const& site : rings.front().sites) result.push_back(&site.block());
  return result;
}

std::optional<std::vector<RingGroup>> find_rings(ir::Function& function, PassContext& context, bool& erased) {
  Finder finder(function, context, erased);
  if (!finder.find()) return std::nullopt;
  return finder.groups();
}

void refuse_fetch(PassContext& context, ir::Op const& fetch, std::string const& why) {
  context.diagnostics.error("circular-buffer: " + why, fetch.where());
}

}  // namespace tegula::transform

// Records accesses and compares them with the shadow memory.
#include <fmt/format.h>

#include <algorithm>

#include "sim/machine/state.hpp"
#include "tegula/support/error.hpp"

namespace tegula::sim::machine {

std::uint32_t State::new_record(WarpState const& w, Lanes lanes, ActionSite const& site, Proxy proxy,
                                Mechanism mechanism, bool write) {
  AccessRecord& record = records.emplace_back();
  record.site = site;
  record.lanes = lanes;
  record.time = w.clocks.time();
  record.warp = static_cast<std::uint16_t>(w.number);
  record.proxy = proxy;
  record.mechanism = mechanism;
  record.write = write;
  return static_cast<std::uint32_t>(records.size() - 1);
}

void State::check_shared(WarpState& w, Lanes lanes, SpaceState const& space, Footprint const& bytes,
                         std::uint32_t number) {
  AccessRecord const& record = records[number];
  CtaState& cta = ctas[static_cast<std::size_t>(space.owner)];
  if (space.owner != w.cta) {
    Slot const meeting = clusters[static_cast<std::size_t>(w.cta / options.cluster)].slot;
    bool known_started = meeting != no_slot && knows_slot(w, lanes, meeting, 1);
    for (int other : cta.warps) {
      Slot const slot = warps[static_cast<std::size_t>(other)]->clocks.slot();
      if (knows_slot(w, lanes, slot, 1)) known_started = true;
    }
    if (cta.running == 0 && first(ReportKind::peer_lifetime, record.site, {})) {
      add(ReportKind::peer_lifetime,
          fmt::format("CTA {} has ended before this access to its shared memory; add a cluster barrier before it exits",
                      space.owner),
          {}, side(w, lanes, fmt::format("access to shared memory of CTA {}", space.owner), record.site));
    } else if (!known_started && first(ReportKind::peer_lifetime, record.site, {})) {
      add(ReportKind::peer_lifetime,
          fmt::format("CTA {} may not have started; add a cluster barrier before the first access to its shared memory",
                      space.owner),
          {}, side(w, lanes, fmt::format("access to shared memory of CTA {}", space.owner), record.site));
    }
    note_remote(cta, w, lanes, record.site, record.mechanism == Mechanism::mbarrier ? number : 0);
  }
  if (cta.live.empty()) return;
  for (LaneBytes const& range : bytes) {
    if (range.begin >= cta.live.back() + 8u || range.end <= cta.live.front()) continue;
    auto const at = std::lower_bound(cta.live.begin(), cta.live.end(), range.begin,
                                     [](std::uint32_t offset, std::uint64_t begin) { return offset + 8u <= begin; });
    if (at == cta.live.end() || *at >= range.end) continue;
    Mbarrier const* hit = find({space.owner, *at});
    if (hit == nullptr || !first(ReportKind::dead_barrier, hit->init.site, record.site)) continue;
    Side later =
        side(w, lanes, (record.write ? "write " : "read ") + describe(cta.space, range.begin, range.end), record.site);
    add(ReportKind::dead_barrier,
        "bytes of " + describe(*hit) +
            " are accessed while it lives; add mbarrier.inval and a barrier before other uses of the bytes",
        side(*warps[hit->init.warp], hit->init.lanes, "init of " + describe(*hit), hit->init.site), std::move(later));
  }
}

void State::note_remote(CtaState& cta, WarpState const& w, Lanes lanes, ActionSite const& site, std::uint32_t number) {
  RemoteUse const now{{static_cast<std::uint16_t>(w.number), lanes, w.clocks.time(), site}, number};
  auto const same = [&](RemoteUse const& use) {
    bool const counted = use.record != 0;
    return use.by.warp == now.by.warp && counted == (number != 0) &&
           (!counted || records[use.record].mbarrier == records[number].mbarrier);
  };
  auto const old = std::find_if(cta.remote.begin(), cta.remote.end(), same);
  if (old != cta.remote.end())
    *old = now;
  else
    cta.remote.push_back(now);
}

namespace {

/// Compares one action's access with the earlier ones of its bytes, and enters it in their history.
class HistoryUpdate {
 public:
  HistoryUpdate(State& machine, WarpState& w, Lanes lanes, Space space, std::uint32_t number)
      : machine_(machine),
        w_(w),
        lanes_(lanes),
        id_(space),
        space_(*machine.spaces[space]),
        plane_(space_.kind == SpaceKind::shared ? Plane::shared_async : Plane::global_async),
        number_(number),
        record_(machine.records[number]) {}

  void enter(LaneBytes const& range) {
    if (range.lane != code_) begin_lanes(range.lane);
    space_.shadow.visit(range.begin, range.end, [&](Segment& s, std::uint64_t base) {
      compare_with_write(s, base);
      if (record_.write)
        compare_with_reads(s, base);
      else
        enter_read(s, base);
    });
    if (!record_.write) return;
    space_.shadow.overwrite(range.begin, range.end, ref_);
    std::erase_if(machine_.acquires,
                  [&](MapAcquire const& a) { return a.space == id_ && a.begin < range.end && range.begin < a.end; });
  }

 private:
  /// The answer for one earlier access holds for all intervals of one lane set, so the last good one is remembered.
  void begin_lanes(std::uint32_t code) {
    code_ = code;
    observing_ = code == every_lane ? lanes_ : lane(static_cast<int>(code));
    ref_ = make_ref(number_, code);
    good_write_ = no_access;
    good_reads_ = 0;
  }
  [[nodiscard]] Order order_after(AccessRef earlier, Proxy next) const {
    return machine_.order(machine_.records[record_of(earlier)], lane_of(earlier), w_, observing_, next, plane_);
  }
  /// Tells whether two atomic accesses are one step for each other, in whatever order.
  [[nodiscard]] bool one_step(AccessRecord const& earlier) const {
    if (!earlier.atomic || !record_.atomic) return false;
    return (!earlier.of_cta && !record_.of_cta) || machine_.warps[earlier.warp]->cta == w_.cta;
  }
  /// Tells whether the access may follow an earlier one; reports a conflict otherwise.
  bool may_follow(AccessRef earlier, Segment const& s, std::uint64_t base) {
    if (record_of(earlier) == number_ || one_step(machine_.records[record_of(earlier)])) return true;
    Order const found = order_after(earlier, record_.proxy);
    if (found == Order::ordered) return true;
    machine_.conflict(earlier, ref_, w_, observing_, found, id_, base + s.begin, base + s.end);
    return false;
  }
  /// Tells whether an agent ordered after this read is ordered after an older one, too.
  [[nodiscard]] bool stands_for(AccessRef old_ref) const {
    AccessRecord const& old = machine_.records[record_of(old_ref)];
    bool const same_agent = old.mechanism == record_.mechanism && old.warp == record_.warp &&
                            old.lanes == record_.lanes && lane_of(old_ref) == code_ && old.proxy == record_.proxy;
    if (same_agent && record_.mechanism != Mechanism::mbarrier) return true;
    return old.asynchronous() && order_after(old_ref, Proxy::generic) == Order::ordered;
  }

  void compare_with_write(Segment const& s, std::uint64_t base) {
    if (s.write == no_access) {
      if (!record_.write && machine_.first(ReportKind::never_written, record_.site, {})) {
        machine_.add(ReportKind::never_written,
                     "no access wrote " + machine_.describe(id_, base + s.begin, base + s.end) + " before this read",
                     {}, side(record_, code_, s, base));
      }
    } else if (s.write != good_write_ && may_follow(s.write, s, base)) {
      good_write_ = s.write;
    }
  }
  void compare_with_reads(Segment const& s, std::uint64_t base) {
    if (s.reads == 0 || s.reads == good_reads_) return;
    bool all = true;
    for (ReadList i = s.reads; i != 0; i = machine_.reads.node(i).next)
      all = may_follow(machine_.reads.node(i).ref, s, base) && all;
    if (all) good_reads_ = s.reads;
  }
  void enter_read(Segment& s, std::uint64_t base) {
    if (s.dead != no_access) {
      AccessRecord const& given_up = machine_.records[record_of(s.dead)];
      if (order_after(s.dead, Proxy::generic) == Order::ordered &&
          machine_.first(ReportKind::stale, given_up.site, record_.site)) {
        machine_.add(ReportKind::stale, "the bytes were released and not written again before this read",
                     side(given_up, lane_of(s.dead), s, base), side(record_, code_, s, base));
      }
    }
    s.reads = machine_.reads.add(s.reads, ref_, [&](AccessRef old) { return stands_for(old); });
  }
  [[nodiscard]] Side side(AccessRecord const& record, std::uint32_t code, Segment const& s, std::uint64_t base) const {
    return machine_.side(record, code, id_, base + s.begin, base + s.end);
  }

  State& machine_;
  WarpState& w_;
  Lanes lanes_;
  Space id_;
  SpaceState& space_;
  Plane plane_;
  std::uint32_t number_;
  AccessRecord const& record_;
  std::uint32_t code_ = UINT32_MAX;  ///< of the lanes at hand; the rest is theirs
  Lanes observing_ = 0;
  AccessRef ref_ = no_access;
  AccessRef good_write_ = no_access;
  ReadList good_reads_ = 0;
};

}  // namespace

bool State::check_inside(WarpState const& w, Lanes lanes, SpaceState const& space, Footprint const& bytes,
                         ActionSite const& site) {
  for (LaneBytes const& range : bytes) {
    if (range.end <= space.buffer.bytes && range.begin <= range.end) continue;
    if (first(ReportKind::misuse, site, {})) {
      add(ReportKind::misuse,
          fmt::format("bytes {}..{} lie outside {} of {} bytes", range.begin, range.end, space.buffer.name,
                      space.buffer.bytes),
          {}, side(w, lanes, "access", site));
    }
    return false;
  }
  return true;
}

void State::touch(WarpState& w, Lanes lanes, Footprint const& bytes, std::uint32_t number) {
  if (bytes.empty() || stop) return;
  AccessRecord const& record = records[number];
  if (bytes.space() >= spaces.size()) {
    throw InternalError(fmt::format("simulator: no space {} ({})", bytes.space(), place_text(record.site)));
  }
  SpaceState& space = *spaces[bytes.space()];
  if (!check_inside(w, lanes, space, bytes, record.site)) return;
  if (space.kind == SpaceKind::global && space.buffer.read_only) {
    if (record.write && first(ReportKind::misuse, record.site, {})) {
      add(ReportKind::misuse, "write to " + space.buffer.name + ", which the kernel may only read", {},
          side(w, lanes, "write", record.site));
    }
    return;
  }
  if (space.kind == SpaceKind::shared) check_shared(w, lanes, space, bytes, number);
  HistoryUpdate update(*this, w, lanes, bytes.space(), number);
  for (LaneBytes const& range : bytes) update.enter(range);
}

void State::give_up(WarpState&, Lanes, Footprint const& bytes, std::uint32_t number) {
  SpaceState& space = *spaces[bytes.space()];
  for (LaneBytes const& range : bytes) {
    AccessRef const ref = make_ref(number, range.lane);
    space.shadow.visit(range.begin, std::min(range.end, space.buffer.bytes),
                       [&](Segment& s, std::uint64_t) { s.dead = ref; });
  }
}

void State::touch_registers(WarpState& w, Footprint const& bytes, std::uint32_t number, bool reads_old) {
  if (bytes.empty() || stop) return;
  AccessRecord const& record = records[number];
  SpaceState& space = *spaces[bytes.space()];
  bool const async = record.asynchronous();
  for (LaneBytes const& range : bytes) {
    AccessRef const ref = make_ref(number, every_lane);
    auto const check = [&](AccessRef earlier_ref, Segment const& s, std::uint64_t base) {
      AccessRecord const& earlier = records[record_of(earlier_ref)];
      bool fence = false;
      if (record_of(earlier_ref) == number) return;
      if (async && earlier.asynchronous() && earlier.write && record.write && earlier.shape == record.shape) return;
      if (!earlier.asynchronous() || earlier.waited_lanes != 0) {
        fence = async && w.wgmma_fence <= earlier.time;
        if (!fence) return;
      }
      register_conflict(earlier_ref, ref, fence, bytes.space(), base + s.begin, base + s.end);
    };
    space.shadow.visit(range.begin, range.end, [&](Segment& s, std::uint64_t base) {
      if (s.write != no_access) {
        check(s.write, s, base);
      } else if (reads_old && first(ReportKind::never_written, record.site, {})) {
        add(ReportKind::never_written,
            describe(bytes.space(), base + s.begin, base + s.end) + " is read before it is written", {},
            side(record, every_lane, bytes.space(), base + s.begin, base + s.end));
      }
      if (record.write) {
        for (ReadList i = s.reads; i != 0; i = reads.node(i).next) check(reads.node(i).ref, s, base);
      } else {
        s.reads = reads.add(s.reads, ref, [&](AccessRef old) {
          return records[record_of(old)].mechanism ==
                 record.mechanism;  // one warp: the newest of a kind stands for all
        });
      }
    });
    if (record.write) space.shadow.overwrite(range.begin, range.end, ref);
  }
}

void State::check_tensor_map(WarpState& w, Lanes lanes, Footprint const& map, std::uint32_t number) {
  if (map.empty()) return;
  touch(w, lanes, map, number);
  SpaceState const& space = *spaces[map.space()];
  if (space.kind != SpaceKind::global || space.buffer.constant) return;
  for (LaneBytes const& range : map) {
    bool acquired = false;
    for (MapAcquire const& a : acquires) {
      acquired = acquired || (a.space == map.space() && a.begin <= range.begin && a.end >= range.end &&
                              warps[a.instant.warp]->cta == w.cta && knows(w, lanes, a.instant));
    }
    if (!acquired && first(ReportKind::descriptor, records[number].site, {})) {
      add(ReportKind::descriptor,
          "no acquire of the tensor map " + describe(map.space(), range.begin, range.end) +
              " in this CTA after its last " +
              "write; add fence.proxy.tensormap acquire before its first use, or pass the map by value",
          {}, side(w, lanes, "use of the map", records[number].site));
    }
  }
}

void State::check_released(WarpState& w, Lanes lanes, Footprint const& map, ActionSite const& site) {
  SpaceState& space = *spaces[map.space()];
  for (LaneBytes const& range : map) {
    AccessRef unreleased = no_access;
    space.shadow.visit(range.begin, std::min(range.end, space.buffer.bytes), [&](Segment& s, std::uint64_t) {
      if (s.write == no_access) return;
      AccessRecord const& write = records[record_of(s.write)];
      if (write.warp == host_warp || write.warp == preceding_grid) return;
      bool const released = std::any_of(releases.begin(), releases.end(), [&](Instant const& release) {
        return release.warp == write.warp && (write.lanes & ~release.lanes) == 0 && release.time > write.time &&
               knows(w, lanes, release);
      });
      if (!released) unreleased = s.write;
    });
    if (unreleased == no_access) continue;
    AccessRecord const& write = records[record_of(unreleased)];
    if (!first(ReportKind::descriptor, write.site, site)) continue;
    add(ReportKind::descriptor,
        "the write of the tensor map " + describe(map.space(), range.begin, range.end) +
            " was not released before this acquire; add fence.proxy.tensormap release in the thread that wrote it, "
            "before the barrier",
        side(write, lane_of(unreleased), map.space(), range.begin, range.end),
        side(w, lanes, "acquire of the map", site));
  }
}

}  // namespace tegula::sim::machine

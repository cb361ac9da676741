// Records accesses and compares them with the shadow memory.
#include <algorithm>

#include "sim/machine/state.hpp"
#include "tegula/support/error.hpp"

namespace tegula::sim::machine {

std::uint32_t State::new_record(WarpState const& w, Lanes lanes, Site const& site, Proxy proxy, Mechanism mechanism,
                                bool write) {
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
          "CTA " + std::to_string(space.owner) + " has ended before this access to its shared memory; add a cluster " +
              "barrier before it exits",
          {}, side(w, lanes, "access to shared memory of CTA " + std::to_string(space.owner), record.site));
    } else if (!known_started && first(ReportKind::peer_lifetime, record.site, {})) {
      add(ReportKind::peer_lifetime,
          "CTA " + std::to_string(space.owner) +
              " may not have started; add a cluster barrier before the first access " + "to its shared memory",
          {}, side(w, lanes, "access to shared memory of CTA " + std::to_string(space.owner), record.site));
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

void State::note_remote(CtaState& cta, WarpState const& w, Lanes lanes, Site const& site, std::uint32_t number) {
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

void State::touch(WarpState& w, Lanes lanes, Footprint const& bytes, std::uint32_t number) {
  if (bytes.empty() || stop) return;
  AccessRecord const& record = records[number];
  if (bytes.space() >= spaces.size()) {
    throw InternalError("simulator: no space " + std::to_string(bytes.space()) + " (" + place_text(record.site) + ")");
  }
  SpaceState& space = *spaces[bytes.space()];
  for (LaneBytes const& range : bytes) {
    if (range.end <= space.buffer.bytes && range.begin <= range.end) continue;
    if (first(ReportKind::misuse, record.site, {})) {
      add(ReportKind::misuse,
          "bytes " + std::to_string(range.begin) + ".." + std::to_string(range.end) + " lie outside " +
              space.buffer.name + " of " + std::to_string(space.buffer.bytes) + " bytes",
          {}, side(w, lanes, "access", record.site));
    }
    return;
  }
  if (space.kind == SpaceKind::global && space.buffer.read_only) {
    if (record.write && first(ReportKind::misuse, record.site, {})) {
      add(ReportKind::misuse, "write to " + space.buffer.name + ", which the kernel may only read", {},
          side(w, lanes, "write", record.site));
    }
    return;
  }
  if (space.kind == SpaceKind::shared) check_shared(w, lanes, space, bytes, number);
  Plane const plane = space.kind == SpaceKind::shared ? Plane::shared_async : Plane::global_async;

  // The answer for one earlier access holds for all intervals of one lane set, so remember the last good one.
  AccessRef good_write = no_access;
  ReadList good_reads = 0;
  std::uint32_t good_code = UINT32_MAX;
  for (LaneBytes const& range : bytes) {
    std::uint32_t const code = range.lane;
    Lanes const observing = code == every_lane ? lanes : lane(static_cast<int>(code));
    AccessRef const ref = make_ref(number, code);
    if (code != good_code) {
      good_write = no_access;
      good_reads = 0;
      good_code = code;
    }
    auto const fine = [&](AccessRef earlier_ref, Segment const& s, std::uint64_t base) {
      AccessRecord const& earlier = records[record_of(earlier_ref)];
      bool const one_step =
          earlier.atomic && record.atomic && ((!earlier.of_cta && !record.of_cta) || warps[earlier.warp]->cta == w.cta);
      if (record_of(earlier_ref) == number || one_step) return true;
      Order const found = order(earlier, lane_of(earlier_ref), w, observing, record.proxy, plane);
      if (found == Order::ordered) return true;
      conflict(earlier_ref, ref, w, observing, found, bytes.space(), base + s.begin, base + s.end);
      return false;
    };
    auto const covered = [&](AccessRef old_ref) {
      AccessRecord const& old = records[record_of(old_ref)];
      if (old.mechanism == record.mechanism && old.warp == record.warp && old.lanes == record.lanes &&
          lane_of(old_ref) == code && old.proxy == record.proxy && record.mechanism != Mechanism::mbarrier) {
        return true;  // an agent ordered after the newer one is ordered after the older
      }
      return old.asynchronous() && order(old, lane_of(old_ref), w, observing, Proxy::generic, plane) == Order::ordered;
    };
    space.shadow.visit(range.begin, range.end, [&](Segment& s, std::uint64_t base) {
      if (s.write == no_access) {
        if (!record.write && first(ReportKind::never_written, record.site, {})) {
          add(ReportKind::never_written,
              "no access wrote " + describe(bytes.space(), base + s.begin, base + s.end) + " before this read", {},
              side(record, code, bytes.space(), base + s.begin, base + s.end));
        }
      } else if (s.write != good_write && fine(s.write, s, base)) {
        good_write = s.write;
      }
      if (record.write) {
        if (s.reads != 0 && s.reads != good_reads) {
          bool all = true;
          for (ReadList i = s.reads; i != 0; i = reads.node(i).next) all = fine(reads.node(i).ref, s, base) && all;
          if (all) good_reads = s.reads;
        }
        return;
      }
      if (s.dead != no_access) {
        AccessRecord const& given_up = records[record_of(s.dead)];
        if (order(given_up, lane_of(s.dead), w, observing, Proxy::generic, plane) == Order::ordered &&
            first(ReportKind::stale, given_up.site, record.site)) {
          add(ReportKind::stale, "the bytes were released and not written again before this read",
              side(given_up, lane_of(s.dead), bytes.space(), base + s.begin, base + s.end),
              side(record, code, bytes.space(), base + s.begin, base + s.end));
        }
      }
      s.reads = reads.add(s.reads, ref, covered);
    });
    if (!record.write) continue;
    space.shadow.overwrite(range.begin, range.end, ref);
    std::erase_if(acquires, [&](MapAcquire const& a) {
      return a.space == bytes.space() && a.begin < range.end && range.begin < a.end;
    });
  }
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

void State::check_released(WarpState& w, Lanes lanes, Footprint const& map, Site const& site) {
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

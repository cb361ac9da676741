// Implements mbarriers in the machine: lifetime, publication, arrivals, waits by full phase number.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "sim/machine/state.hpp"

namespace tegula::sim::machine {

Mbarrier* State::find(MbarrierAddress address) {
  if (address.cta < 0 || address.cta >= static_cast<int>(ctas.size()) || address.offset % 8 != 0) return nullptr;
  std::vector<std::int32_t> const& at = ctas[static_cast<std::size_t>(address.cta)].mbarrier_at;
  std::size_t const i = address.offset / 8;
  return i < at.size() && at[i] >= 0 ? mbarriers[static_cast<std::size_t>(at[i])] : nullptr;
}

std::int32_t State::number_of(Mbarrier const& b) const {
  return static_cast<std::int32_t>(std::find(mbarriers.begin(), mbarriers.end(), &b) - mbarriers.begin());
}

void State::report_not_live(Mbarrier const* b, WarpState const& w, Lanes lanes, MbarrierAddress address,
                            ActionSite const& site) {
  if (b != nullptr) {
    if (first(ReportKind::dead_barrier, b->inval, site)) {
      add(ReportKind::dead_barrier,
          describe(*b) + " is used after its inval; initialise it again, or move the inval after the last use",
          {"inval of " + describe(*b), b->inval}, side(w, lanes, "use of " + describe(*b), site), true);
    }
  } else if (first(ReportKind::use_before_init, {}, site)) {
    CtaState const& cta = ctas[static_cast<std::size_t>(std::clamp(address.cta, 0, static_cast<int>(ctas.size()) - 1))];
    std::string const bytes = describe(cta.space, address.offset, address.offset + 8);
    add(ReportKind::use_before_init,
        "there is no initialised mbarrier at " + bytes +
            " yet; add mbarrier.init, fence.mbarrier_init and a CTA (in a " +
            "cluster: cluster) barrier before the first use",
        {}, side(w, lanes, "use of " + bytes, site), true);
  }
}

void State::check_published(Mbarrier const& b, WarpState const& w, Lanes lanes, ActionSite const& site,
                            bool same_thread) {
  bool const published = b.published && (same_thread || knows_slot(w, lanes, b.init_slot, 1));
  if (published || !first(ReportKind::use_before_init, b.init.site, site)) return;
  bool const ordered = same_thread || knows(w, lanes, b.init);
  std::string sentence =
      ordered ? "the init of " + describe(b) + " is not published: add fence.mbarrier_init by the thread that " +
                    "initialised it, before the barrier"
              : "nothing orders the init of " + describe(b) +
                    " before this use: add a CTA barrier (in a cluster: cluster barrier) after fence.mbarrier_init";
  add(ReportKind::use_before_init, std::move(sentence),
      side(*warps[b.init.warp], b.init.lanes, "init of " + describe(b), b.init.site),
      side(w, lanes, "use of " + describe(b), site));
}

Mbarrier* State::use(WarpState& w, Lanes lanes, MbarrierAddress address, ActionSite const& site, bool copy) {
  Mbarrier* b = find(address);
  if (b == nullptr || !b->state.live()) {
    report_not_live(b, w, lanes, address, site);
    stop = true;
    return nullptr;
  }
  bool const same_thread = b->init.warp == w.number && lanes == b->init.lanes;
  if (!same_thread || copy) check_published(*b, w, lanes, site, same_thread);
  if (address.cta != w.cta) {
    CtaState& cta = ctas[static_cast<std::size_t>(address.cta)];
    if (cta.running == 0 && first(ReportKind::peer_lifetime, site, {})) {
      add(ReportKind::peer_lifetime,
          fmt::format("CTA {} has ended before this use of {}; let it wait for all releases, or add a cluster barrier "
                      "before it exits",
                      address.cta, describe(*b)),
          {}, side(w, lanes, "use of " + describe(*b), site));
    }
    if (!copy) note_remote(cta, w, lanes, site, 0);  // a copy's end is that of the phase that counts it
  }
  auto const user = std::find_if(b->users.begin(), b->users.end(),
                                 [&](Instant const& i) { return i.warp == w.number && (i.lanes & ~lanes) == 0; });
  Instant const now{static_cast<std::uint16_t>(w.number), lanes, w.clocks.time(), site};
  if (user != b->users.end())
    *user = now;
  else
    b->users.push_back(now);
  w.touched.write(object_of(b->address));
  return b;
}

void State::fault(MbarrierFault found, Mbarrier const& b, WarpState const& w, Lanes lanes, ActionSite const& site,
                  std::string const& amount) {
  ReportKind kind = ReportKind::phase_error;
  std::string sentence;
  switch (found) {
    case MbarrierFault::none:
      return;
    case MbarrierFault::bad_count:
      kind = ReportKind::misuse;
      sentence = describe(b) + ": a count of " + amount + " is not in 1..1048575";
      break;
    case MbarrierFault::already_live:
      kind = ReportKind::dead_barrier;
      sentence = describe(b) + " is initialised while it lives; add mbarrier.inval and a barrier before";
      break;
    case MbarrierFault::not_live:
      kind = ReportKind::dead_barrier;
      sentence = describe(b) + " is not live";
      break;
    case MbarrierFault::over_arrival:
      sentence = fmt::format("phase {} of {}", b.state.phase(), describe(b));
      if (b.state.pending() == 0) {
        sentence += fmt::format(
            " has all its arrivals and waits for {} bytes when one more comes; hold this arrive back until the phase "
            "is over (a wait for the release of the stage), or count it in the init",
            b.state.tx());
      } else {
        sentence += fmt::format(
            " expects {} arrivals, {} are left, and {} come; the count of its init must be the number of arrivals "
            "executed per phase",
            b.state.expected(), b.state.pending(), amount);
      }
      break;
    case MbarrierFault::late_expect:
      sentence = fmt::format(
          "phase {} of {} has all its arrivals, and {} unexpected bytes have arrived when {} are expected; expect them "
          "before the last arrival",
          b.state.phase(), describe(b), -b.state.tx(), amount);
      break;
    case MbarrierFault::tx_range:
      kind = ReportKind::wrong_byte_count;
      sentence = fmt::format("phase {} of {} counts more than 1048575 bytes ({} and {})", b.state.phase(), describe(b),
                             b.state.tx(), amount);
      break;
  }
  if (!first(kind, b.last_arrival, site)) return;
  Side earlier;
  if (b.last_arrival.op[0] != '\0' || b.last_arrival.line != 0)
    earlier = {"last arrival on " + describe(b), b.last_arrival};
  add(kind, std::move(sentence), std::move(earlier), side(w, lanes, "use of " + describe(b), site), true);
}

void State::after_transition(Mbarrier& b) {
  if (!b.state.completed()) return;
  std::uint32_t const finished = b.state.phase() - 1;
  for (std::uint32_t id : in_flight) {
    Operation const& op = operations[id];
    if (op.done || op.mbarrier < 0 || mbarriers[static_cast<std::size_t>(op.mbarrier)] != &b || op.bytes == 0) continue;
    if (op.phase > finished || !first(ReportKind::wrong_byte_count, op.site, b.last_arrival)) continue;
    add(ReportKind::wrong_byte_count,
        fmt::format("phase {} of {} completed while {} bytes of the {} at {} were still to come; expect_tx must be the "
                    "sum of the full boxes on the barrier",
                    finished, describe(b), op.bytes, op.site.op, place_text(op.site)),
        side(*warps[op.warp], op.lanes, fmt::format("copy of {} bytes", op.bytes), op.site),
        {"last arrival on " + describe(b), b.last_arrival});
  }
  std::swap(b.completed, b.pending);
  b.pending.clear();
  b.completed.raise(Plane::order, b.slot, b.state.phase());
  b.completed_time = b.pending_time + static_cast<Time>(costs != nullptr ? costs->mbarrier_latency : 0);
  b.pending_time = 0;
  b.observers.clear();
  b.remote_release = b.remote_pending;
  b.remote_pending = {};
  b.counted_before = b.counted_bytes;
  b.counted_bytes = false;
}

bool State::came_after(WarpState const& w, Lanes lanes, Instant const& wait) const {
  std::vector<std::uint32_t> const& handed = warps[wait.warp]->handed;
  return std::any_of(handed.begin(), handed.end(), [&](std::uint32_t number) {
    AccessRecord const& store = records[number];
    return store.time >= wait.time && (store.lanes & wait.lanes) != 0 && store.signal_time != 0 &&
           knows_slot(w, lanes, store.signal, store.signal_time);
  });
}

void State::check_observed(WarpState& w, Lanes lanes, Mbarrier const& b, ActionSite const& site) {
  if (b.state.phase() == 0) return;
  for (Instant const& o : b.observers) {
    if (knows(w, lanes, o.warp, o.lanes, o.time, Plane::waits, true) || came_after(w, lanes, o)) return;
  }
  if (!first(ReportKind::phase_error, b.init.site, site)) return;
  add(ReportKind::phase_error,
      fmt::format("this arrive belongs to phase {} of {}, but no thread's wait for phase {} happens before it; a wait "
                  "is missing, or the parity is taken from the wrong counter",
                  b.state.phase(), describe(b), b.state.phase() - 1),
      {}, side(w, lanes, "arrive on " + describe(b), site));
}

void State::arrive(WarpState& w, Lanes lanes, MbarrierAddress address, ActionSite const& site, Scope scope,
                   std::int64_t count, std::int64_t bytes, bool drop) {
  Mbarrier* b = use(w, lanes, address, site, false);
  if (b == nullptr) return;
  bool const relaxed = scope == Scope::cluster_relaxed;
  if (address.cta != w.cta && scope == Scope::cta) {
    if (first(ReportKind::wrong_scope, site, {})) {
      add(ReportKind::wrong_scope,
          "an arrive on the barrier of another CTA needs .release.cluster (and the wait .acquire.cluster); with .cta "
          "it " +
              std::string("orders nothing there"),
          {}, side(w, lanes, "arrive on " + describe(*b), site));
    }
  }
  if (address.cta != w.cta && !relaxed)
    b->remote_pending = {static_cast<std::uint16_t>(w.number), lanes, w.clocks.time(), site};
  check_observed(w, lanes, *b, site);
  w.clocks.release(lanes, b->pending, slots, relaxed);
  bool const remote = costs != nullptr && address.cta != w.cta;
  b->pending_time = std::max(b->pending_time, w.now + static_cast<Time>(remote ? costs->peer_latency : 0));
  b->last_arrival = site;
  if (bytes > 0) b->counted_bytes = true;
  for (Lanes rest = lanes; rest != 0 && !stop; rest &= rest - 1) {
    MbarrierFault result = MbarrierFault::none;
    if (drop)
      result = b->state.arrive_drop();
    else if (bytes > 0)
      result = b->state.arrive_expect(bytes);
    else
      result = b->state.arrive(count);
    if (result != MbarrierFault::none) {
      fault(result, *b, w, lanes, site, fmt::to_string(result == MbarrierFault::tx_range ? bytes : count));
      stop = true;
      return;
    }
    bool const spills = b->state.completed() && (rest & (rest - 1)) != 0;
    if (spills && first(ReportKind::phase_error, site, {})) {
      add(ReportKind::phase_error,
          fmt::format("{} lanes arrive at once on {}, whose init count is {}, so the later arrivals fall into the next "
                      "phase; elect one lane, or count every lane in the init",
                      std::popcount(lanes), describe(*b), b->state.expected()),
          {}, side(w, lanes, "arrive on " + describe(*b), site), true);
    }
    after_transition(*b);
  }
}

std::array<std::int32_t, warp_lanes>& State::wait_history(WarpState const& w, Mbarrier& b) {
  if (b.waited.size() < warps.size()) {
    std::array<std::int32_t, warp_lanes> none;
    none.fill(-1);
    b.waited.resize(warps.size(), none);
  }
  return b.waited[static_cast<std::size_t>(w.number)];
}

void State::note_wait(WarpState const& w, Lanes lanes, Mbarrier& b, std::int64_t phases) {
  std::array<std::int32_t, warp_lanes>& history = wait_history(w, b);
  for (Lanes rest = lanes; rest != 0; rest &= rest - 1) {
    history[static_cast<std::size_t>(std::countr_zero(rest))] = static_cast<std::int32_t>(phases);
  }
}

std::int64_t State::needed_phase(WarpState& w, Lanes lanes, Mbarrier& b, std::uint32_t parity, ActionSite const& site) {
  std::array<std::int32_t, warp_lanes>& history = wait_history(w, b);
  std::int64_t needed = -1;
  for (Lanes rest = lanes; rest != 0; rest &= rest - 1) {
    std::int32_t& last = history[static_cast<std::size_t>(std::countr_zero(rest))];
    std::int32_t next = last < 0 ? (parity == 1 ? 0 : 1) : last + 1;
    if (last >= 0 && (static_cast<std::uint32_t>(next) & 1u) == parity) {
      if (first(ReportKind::phase_error, b.init.site, site)) {
        add(ReportKind::phase_error,
            fmt::format("this thread waited on {} for phase {} before and waits for parity {} again; between two waits "
                        "exactly one phase completes, so the parity must flip (take it from the ring's own counter)",
                        describe(b), last - 1, parity),
            {}, side(w, lanes, "wait on " + describe(b), site));
      }
      next = last;
    }
    last = next;
    needed = std::max<std::int64_t>(needed, next);
  }
  return needed;
}

bool State::wait_done(WarpState const&, Blocked const& blocked) const {
  Mbarrier const& b = *mbarriers[static_cast<std::size_t>(blocked.index)];
  return !b.state.live() || b.state.passes(blocked.parity);
}

void State::pass_wait(WarpState& w, Blocked const& blocked) {
  Mbarrier& b = *mbarriers[static_cast<std::size_t>(blocked.index)];
  w.touched.write(object_of(b.address));
  if (!b.state.live()) {
    if (first(ReportKind::dead_barrier, b.inval, blocked.site)) {
      add(ReportKind::dead_barrier,
          describe(b) + " is invalidated while a thread waits on it; move the inval after the last wait",
          {"inval of " + describe(b), b.inval}, side(w, blocked.lanes, "wait on " + describe(b), blocked.site), true);
    }
    return;
  }
  std::int64_t const phase = b.state.phase();
  if (phase != blocked.phase && first(ReportKind::phase_error, b.init.site, blocked.site)) {
    std::string sentence;
    if (phase > blocked.phase) {
      sentence = fmt::format(
          "the wait for phase {} of {} passes when phase {} is complete: the barrier does not wait for this thread, "
          "and two phases later the parity is the same",
          blocked.phase - 1, describe(b), phase - 1);
    } else {
      sentence = fmt::format(
          "the wait for phase {} of {} passes too early: only {} phases are complete, and the parity is that of an "
          "older one",
          blocked.phase - 1, describe(b), phase);
    }
    add(ReportKind::phase_error, std::move(sentence), {"last arrival on " + describe(b), b.last_arrival},
        side(w, blocked.lanes, "wait on " + describe(b), blocked.site));
  }
  if (phase > 0) {
    bool const narrow = b.remote_release.lanes != 0 && blocked.scope == Scope::cta;
    if (narrow && first(ReportKind::wrong_scope, b.remote_release.site, blocked.site)) {
      add(ReportKind::wrong_scope, "the phase was released by another CTA; the wait needs .acquire.cluster",
          {"release of " + describe(b), b.remote_release.site},
          side(w, blocked.lanes, "wait on " + describe(b), blocked.site));
    }
    w.clocks.acquire(blocked.lanes, b.completed);
  }
  b.observers.push_back({static_cast<std::uint16_t>(w.number), blocked.lanes, w.clocks.time(), blocked.site});
}

}  // namespace tegula::sim::machine

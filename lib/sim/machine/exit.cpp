// Ends a run: finds deadlocks, and checks the state when all warps have ended.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "sim/machine/state.hpp"
#include "tegula/support/warp.hpp"

namespace tegula::sim::machine {

Stuck State::stuck(WarpState const& w) const {
  Blocked const& blocked = w.blocked;
  Stuck result;
  result.note = "at " + place_text(blocked.site);
  switch (blocked.kind) {
    case Blocked::Kind::none:
      break;
    case Blocked::Kind::mbarrier: {
      Mbarrier const& b = *mbarriers[static_cast<std::size_t>(blocked.index)];
      std::int64_t const tx = b.state.tx();
      std::string const missing = fmt::format("{} of {} arrivals are missing", b.state.pending(), b.state.expected());
      result.note += fmt::format(" for phase {} of {} (phase {} is under way: {}, {} bytes to come)", blocked.phase - 1,
                                 describe(b), b.state.phase(), missing, tx);
      if (b.state.phase() > blocked.phase) {
        result.kind = ReportKind::phase_error;
        result.weight = 6;
        result.why = fmt::format(
            "the wait for phase {} of {} comes when phase {} is complete already: the barrier does not wait for this "
            "thread; count its release too",
            blocked.phase - 1, describe(b), b.state.phase() - 1);
      } else if (b.state.pending() == 0) {
        result.kind = ReportKind::wrong_byte_count;
        result.weight = 5;
        result.why = fmt::format(
            "{} has all its arrivals, but {}; expect_tx must be the sum of the full boxes copied on it", describe(b),
            tx > 0 ? fmt::format("{} expected bytes never arrived", tx)
                   : fmt::format("{} unexpected bytes arrived", -tx));
      } else if (tx < 0) {
        result.weight = 4;
        result.why = fmt::format("{} unexpected bytes arrived on {}, and {}; add the arrive.expect_tx", -tx,
                                 describe(b), missing);
      } else {
        result.weight = 1;
        result.why = missing + " on " + describe(b) +
                     "; add the arrive, or make the init count the number of arrivals executed per phase";
      }
      break;
    }
    case Blocked::Kind::barrier: {
      NamedBarrier const& b = ctas[static_cast<std::size_t>(w.cta)].barriers[static_cast<std::size_t>(blocked.index)];
      std::string const text = fmt::format("barrier {}", blocked.index);
      result.note += fmt::format(" at {} ({} of {} threads are there)", text, b.arrived, b.expected);
      result.weight = 2;
      result.why = fmt::format(
          "{} counts {} threads and {} came; let all its warps execute it, or use a named barrier with the number of "
          "threads that do",
          text, b.expected, b.arrived);
      break;
    }
    case Blocked::Kind::cluster: {
      ClusterState const& c = clusters[static_cast<std::size_t>(w.cta / options.cluster)];
      result.note += fmt::format(" at the cluster barrier ({} of {} warps are there)", c.arrived, c.alive);
      result.weight = 1;
      result.why = "the cluster barrier waits for warps that never arrive; every thread of the cluster must execute it";
      break;
    }
    case Blocked::Kind::group:
      result.note += " for a group of asynchronous operations";
      break;
    case Blocked::Kind::registers: {
      CtaState const& cta = ctas[static_cast<std::size_t>(w.cta)];
      result.note += fmt::format(" for {} registers ({} are free)", warp_lanes * (blocked.amount - w.registers),
                                 cta.free_registers);
      result.weight = 3;
      result.why =
          "setmaxnreg.inc waits for registers that no warpgroup releases; every other warpgroup must execute its "
          "setmaxnreg.dec, and the sum must fit";
      break;
    }
    case Blocked::Kind::condition:
      result.note += " for a value in memory";
      result.weight = 1;
      result.why = "a warp polls for a value that no thread will write";
      break;
  }
  return result;
}

void State::deadlock() {
  WarpState const* blamed = nullptr;
  Stuck cause;
  std::vector<std::string> notes;
  for (std::size_t i = 0; i < warps.size();) {
    WarpState const& w = *warps[i];
    if (w.finished) {
      ++i;
      continue;
    }
    Stuck current = stuck(w);
    std::size_t last = i;  // neighbours that wait for the same share a line
    while (last + 1 < warps.size() && !warps[last + 1]->finished && stuck(*warps[last + 1]).note == current.note)
      ++last;
    notes.push_back(last == i ? agent_text(w.number, all_lanes) + " waits " + current.note
                              : fmt::format("warps {} to {} wait {}", w.number, active[last]->number, current.note));
    i = last + 1;
    if (blamed != nullptr && current.weight <= cause.weight) continue;
    blamed = &w;
    cause = std::move(current);
  }
  if (blamed == nullptr) return;
  add(cause.kind, "no warp can continue: " + cause.why, {},
      side(*blamed, blamed->blocked.lanes, "wait", blamed->blocked.site), true);
  outcome.reports.back().notes = std::move(notes);
}

void State::check_cta_exit(CtaState& cta) {
  for (RemoteUse const& use : cta.remote) {
    Instant const& touch = use.by;
    AccessRecord const& record = records[use.record];
    bool known = false;
    for (int number : cta.warps) {
      WarpState const& w = *warps[static_cast<std::size_t>(number)];
      for (std::size_t i = 0; i < w.clocks.class_count() && !known; ++i) {
        Lanes const lanes = w.clocks.lane_class(i).lanes;
        known = use.record == 0 ? knows(w, lanes, touch.warp, touch.lanes, touch.time, Plane::order, false)
                                : record.signal_time != 0 && knows_slot(w, lanes, record.signal, record.signal_time);
      }
    }
    if (known || !first(ReportKind::peer_lifetime, touch.site, {})) continue;
    int const owner = warps[static_cast<std::size_t>(cta.warps.front())]->cta;
    add(ReportKind::peer_lifetime,
        fmt::format("CTA {} may end before this use of its shared memory; add a cluster barrier before it exits, or "
                    "let it wait for the last release",
                    owner),
        {}, side(*warps[touch.warp], touch.lanes, fmt::format("use of shared memory of CTA {}", owner), touch.site));
  }
}

void State::check_mbarriers_at_exit() {
  for (Mbarrier const* b : mbarriers) {
    if (!b->state.live()) continue;
    if (!b->state.balanced() && first(ReportKind::unbalanced_at_exit, b->init.site, b->last_arrival)) {
      add(ReportKind::unbalanced_at_exit,
          fmt::format("{} is left in the middle of phase {}: {} of {} arrivals pending, {} bytes outstanding; the "
                      "number of arrivals and waits of the two sides differ",
                      describe(*b), b->state.phase(), b->state.pending(), b->state.expected(), b->state.tx()),
          side(*warps[b->init.warp], b->init.lanes, "init of " + describe(*b), b->init.site),
          b->last_arrival.line != 0 || b->last_arrival.ir_line != 0 ? Side{"last arrival", b->last_arrival} : Side{});
    } else if (b->counted_before && b->observers.empty() &&
               first(ReportKind::open_at_exit, b->counted_site, b->init.site)) {
      add(ReportKind::open_at_exit,
          fmt::format("no thread waits for phase {} of {}, which counts the bytes of a copy; add the wait, or leave "
                      "the copy out",
                      b->state.phase() - 1, describe(*b)),
          {}, {"copy into shared memory", b->counted_site});
    }
  }
}

namespace {

/// Tells whether no wait has covered a member: no group holds it, or lanes have not waited for its group.
bool is_open(GroupQueue const& queue, GroupQueue::Member const& member) {
  if (member.group == GroupQueue::uncommitted) return true;
  return std::any_of(queue.groups.begin(), queue.groups.end(), [&](GroupQueue::Group const& group) {
    return group.number == member.group && group.unread_lanes != 0;
  });
}

}  // namespace

void State::check_groups_at_exit() {
  for (WarpState* w : warps) {
    for (Mechanism mechanism : {Mechanism::bulk_group, Mechanism::cp_group, Mechanism::wgmma_group}) {
      GroupQueue const& q = queue(*w, mechanism);
      for (GroupQueue::Member const& member : q.members) {
        Operation const& op = operations[member.operation];
        bool const handed_to_mbarrier = records[op.result].signal_time != 0;
        if (handed_to_mbarrier || !is_open(q, member) || !first(ReportKind::open_at_exit, op.site, {})) continue;
        char const* const wait = mechanism == Mechanism::bulk_group ? "bulk wait_group 0 by the thread that issued it"
                                 : mechanism == Mechanism::cp_group ? "cp.async.wait_all"
                                                                    : "wgmma.wait_group 0";
        add(ReportKind::open_at_exit,
            std::string("the warp ends with this operation open") +
                (member.group == GroupQueue::uncommitted ? " (it was never committed to a group)" : "") + "; add " +
                wait,
            {}, side(*w, op.lanes, "operation", op.site));
      }
    }
  }
}

void State::check_warpgroups_at_exit() {
  for (CtaState const& cta : ctas) {
    for (std::size_t i = 0; i + 3 < cta.warps.size(); i += 4) {
      WarpState const& leader = *warps[static_cast<std::size_t>(cta.warps[i])];
      for (std::size_t j = i + 1; j < i + 4; ++j) {
        WarpState const& other = *warps[static_cast<std::size_t>(cta.warps[j])];
        if (leader.wgmma_count != other.wgmma_count && first(ReportKind::misuse, leader.last_site, other.last_site)) {
          add(ReportKind::misuse,
              fmt::format("the warps of one warpgroup executed {} and {} wgmma; all four must execute the same",
                          leader.wgmma_count, other.wgmma_count),
              side(leader, all_lanes, "end", leader.last_site), side(other, all_lanes, "end", other.last_site));
        }
        if (leader.registers != other.registers &&
            first(ReportKind::register_pool, leader.last_setmaxnreg, other.last_setmaxnreg)) {
          add(ReportKind::register_pool,
              fmt::format("the warps of one warpgroup end with {} and {} registers per thread; all four must execute "
                          "the same setmaxnreg",
                          leader.registers, other.registers),
              side(leader, all_lanes, "setmaxnreg", leader.last_setmaxnreg),
              side(other, all_lanes, "setmaxnreg", other.last_setmaxnreg));
        }
      }
    }
  }
}

void State::check_exit() {
  check_mbarriers_at_exit();
  check_groups_at_exit();
  // A named barrier may be left with arrivals that nobody waits for: the turn that no one takes any more.
  check_warpgroups_at_exit();
  for (ClusterState const& c : clusters) {
    if (c.arrived == 0 || !first(ReportKind::unbalanced_at_exit, warps.front()->last_site, {})) continue;
    add(ReportKind::unbalanced_at_exit,
        fmt::format("the cluster barrier is left with {} warps that arrived", c.arrived), {}, {});
  }
}

}  // namespace tegula::sim::machine

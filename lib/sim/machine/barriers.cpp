// Implements named and CTA barriers, the cluster barrier, the register pool and dependent launch.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "sim/machine/state.hpp"
#include "target/block_rules.hpp"
#include "tegula/support/warp.hpp"
#include "tegula/target/target_info.hpp"

namespace tegula::sim::machine {
namespace {

/// Counts the threads of a use of a barrier; 0 stands for all of the CTA.
int expected_threads(CtaState const& cta, int threads) {
  return threads == 0 ? static_cast<int>(cta.warps.size()) * warp_lanes : threads;
}

}  // namespace

void State::barrier(WarpState& w, int id, int threads, Lanes lanes, ActionSite const& site, bool waits) {
  CtaState& cta = ctas[static_cast<std::size_t>(w.cta)];
  std::string const text = fmt::format("barrier {}", id);
  auto const misuse = [&](std::string sentence, ActionSite const& other, bool fatal) {
    if (!first(ReportKind::barrier_misuse, other, site)) return;
    Side earlier;
    if (other.line != 0 || other.ir_line != 0) earlier = {text, other};
    add(ReportKind::barrier_misuse, std::move(sentence), std::move(earlier), side(w, lanes, text, site), fatal);
  };
  if (id < 0 || id > 15) return misuse(text + " does not exist: a CTA has 16, 0 to 15", {}, true);
  if (threads % warp_lanes != 0 || threads < 0) {
    return misuse(fmt::format("{} counts {} threads; only whole warps count, so it must be a multiple of {}", text,
                              threads, warp_lanes),
                  {}, true);
  }
  if (lanes != all_lanes) {
    return misuse(
        fmt::format(
            "{} is in a region of {} lanes; the whole warp must execute it, so move it out of the elected region", text,
            std::popcount(lanes)),
        {}, true);
  }
  NamedBarrier& b = cta.barriers[static_cast<std::size_t>(id)];
  if (b.slot == no_slot) b.slot = slots.make();
  w.touched.write(object_of_barrier + static_cast<std::uint64_t>(w.cta * 16 + id));
  int const expected = expected_threads(cta, threads);
  if (b.uses > 0 && !knows_slot(w, lanes, b.slot, b.uses)) {
    misuse(text +
               " is used again, but nothing orders this use after the previous one; give each group its own id, or "
               "order them by a common barrier",
           {}, false);
  }
  if (b.arrived == 0) {
    b.expected = expected;
  } else if (b.expected != expected) {
    misuse(fmt::format("{} is waited for with {} threads here and {} there; two groups use one id, or a count is wrong",
                       text, expected, b.expected),
           b.present.front().site, true);
  }
  for (Instant const& other : b.present) {
    if (other.warp == w.number) misuse(text + " is reached twice by one warp before it completed", other.site, true);
  }
  w.clocks.release(all_lanes, b.pending, slots);
  b.arrived += warp_lanes;
  b.time = std::max(b.time, w.now);
  b.present.push_back({static_cast<std::uint16_t>(w.number), lanes, w.clocks.time(), site});
  if (b.arrived > b.expected) {
    misuse(fmt::format("{} gets {} threads where {} are counted", text, b.arrived, b.expected), b.present.front().site,
           true);
  }
  if (b.arrived == b.expected) {
    complete(b, waits ? &w : nullptr);
  } else if (waits) {
    b.waiting.push_back(w.number);
    Blocked wait;
    wait.kind = Blocked::Kind::barrier;
    wait.site = site;
    wait.index = id;
    block(w, std::move(wait));
  }
}

void State::complete(NamedBarrier& b, WarpState* last) {
  ++b.uses;
  Time const completed = b.time + static_cast<Time>(costs != nullptr ? costs->barrier_latency : 0);
  b.time = 0;
  b.pending.raise(Plane::order, b.slot, b.uses);
  for (int other : b.waiting) {
    WarpState& waiting = *warps[static_cast<std::size_t>(other)];
    waiting.clocks.acquire(all_lanes, b.pending);
    waiting.clocks.synchronise(all_lanes, slots);  // its lanes are participants too
    waiting.blocked.ready = true;
    waiting.blocked.time = completed;
  }
  if (last != nullptr) {
    last->now = std::max(last->now, completed);
    last->clocks.acquire(all_lanes, b.pending);
    last->clocks.synchronise(all_lanes, slots);
  }
  b.pending.clear();
  b.present.clear();
  b.waiting.clear();
  b.arrived = 0;
}

void State::complete_cluster_if_ready(ClusterState& c) {
  if (c.arrived == 0 || c.arrived < c.alive) return;
  if (c.slot == no_slot) c.slot = slots.make();
  c.pending.raise(Plane::order, c.slot, ++c.generation);
  c.completed_time = c.pending_time + static_cast<Time>(costs != nullptr ? costs->peer_latency : 0);
  c.pending_time = 0;
  c.arrived = 0;
  std::swap(c.completed, c.pending);
  c.pending.clear();
}

// --- what a warp does ------------------------------------------------------------------------------------------------

Turn Warp::barrier(int id, int threads, Lanes lanes, ActionSite site) {
  WarpState& w = begin(site, lanes);
  state_->barrier(w, id, threads, lanes, site, true);
  return turn(w);
}

Turn Warp::barrier_arrive(int id, int threads, Lanes lanes, ActionSite site) {
  WarpState& w = begin(site, lanes);
  state_->barrier(w, id, threads, lanes, site, false);
  return turn(w);
}

Turn Warp::cluster_arrive(Lanes lanes, ActionSite site, bool relaxed) {
  WarpState& w = begin(site, lanes);
  State& s = *state_;
  ClusterState& c = s.clusters[static_cast<std::size_t>(w.cta / s.options.cluster)];
  w.touched.write(object_of_cluster);
  bool const twice = w.cluster_arrivals > w.cluster_waits;
  if ((lanes != all_lanes || twice) && s.first(ReportKind::barrier_misuse, site, {})) {
    s.add(ReportKind::barrier_misuse,
          twice ? "the cluster barrier is reached twice without a wait between"
                : "the cluster barrier is in a region of some lanes; the whole warp must execute it",
          {}, s.side(w, lanes, "barrier.cluster.arrive", site), true);
  }
  ++w.cluster_arrivals;
  w.cluster_arrival = site;
  c.pending_time = std::max(c.pending_time, w.now);
  if (relaxed) {
    w.relaxed_time = w.clocks.time();
    w.relaxed_use = w.cluster_arrivals;
    for (Mbarrier const* b : s.mbarriers)
      if (b->published && b->init.warp == w.number) c.pending.raise(Plane::order, b->init_slot, 1);
  } else {
    w.clocks.release(all_lanes, c.pending, s.slots);
  }
  ++c.arrived;
  s.complete_cluster_if_ready(c);
  return turn(w);
}

Turn Warp::cluster_wait(Lanes lanes, ActionSite site) {
  WarpState& w = begin(site, lanes);
  State& s = *state_;
  if (w.cluster_waits == w.cluster_arrivals && s.first(ReportKind::barrier_misuse, site, {})) {
    s.add(ReportKind::barrier_misuse, "barrier.cluster.wait without an arrive before it", {},
          s.side(w, lanes, "barrier.cluster.wait", site), true);
  }
  Blocked wait;
  wait.kind = Blocked::Kind::cluster;
  wait.site = site;
  wait.phase = ++w.cluster_waits;
  s.block(w, std::move(wait));
  return turn(w);
}

Turn Warp::dependents_launch(Lanes lanes, ActionSite site) { return turn(begin(site, lanes)); }

Turn Warp::dependencies_wait(Lanes lanes, ActionSite site) {
  WarpState& w = begin(site, lanes);
  w.clocks.acquire(lanes, state_->preceding_slot, 1);
  return turn(w);
}

Turn Warp::set_max_registers(bool increase, std::uint32_t count, ActionSite site) {
  WarpState& w = begin(site, all_lanes);
  State& s = *state_;
  CtaState& cta = s.ctas[static_cast<std::size_t>(w.cta)];
  w.touched.write(object_of_pool + static_cast<std::uint64_t>(w.cta));
  w.last_setmaxnreg = site;
  if (s.options.registers == 0) return turn(w);
  std::string sentence;
  if (!target::is_register_count(count)) {
    sentence = fmt::format("setmaxnreg {}: the count must be a multiple of 8 in 24..256", count);
  } else if (increase ? count < w.registers : count > w.registers) {
    sentence = fmt::format("setmaxnreg.{} {} while the warp holds {} registers per thread", increase ? "inc" : "dec",
                           count, w.registers);
  }
  if (!sentence.empty()) {
    if (s.first(ReportKind::register_pool, site, {})) {
      s.add(ReportKind::register_pool, std::move(sentence), {}, s.side(w, all_lanes, "setmaxnreg", site));
    }
    return turn(w);
  }
  if (!increase) {
    cta.free_registers += std::uint64_t{warp_lanes} * (w.registers - count);
    w.registers = count;
    return turn(w);
  }
  Blocked wait;
  wait.kind = Blocked::Kind::registers;
  wait.site = site;
  wait.amount = count;
  s.block(w, std::move(wait));
  return turn(w);
}

}  // namespace tegula::sim::machine

#include "sim/machine/time.hpp"

#include <algorithm>
#include <cmath>

#include "sim/machine/state.hpp"

namespace tegula::sim::machine {

Time Unit::take(Time from, Time clocks) {
  if (clocks == 0) return from;
  auto at = std::partition_point(busy_.begin(), busy_.end(), [&](Interval const& i) { return i.end <= from; });
  Time begin = from;
  for (; at != busy_.end() && at->begin < begin + clocks; ++at) begin = std::max(begin, at->end);
  Time const end = begin + clocks;
  bool const joins_last = at != busy_.begin() && std::prev(at)->end == begin;
  bool const joins_next = at != busy_.end() && at->begin == end;
  if (joins_last && joins_next) {
    std::prev(at)->end = at->end;
    busy_.erase(at);
  } else if (joins_last) {
    std::prev(at)->end = end;
  } else if (joins_next) {
    at->begin = begin;
  } else {
    busy_.insert(at, {begin, end});
  }
  return end;
}

void Units::reset() {
  for (Unit& unit : schedulers) unit.reset();
  for (Unit& unit : tensor_cores) unit.reset();
  shared.reset();
  global.reset();
}

Time State::clocks_for(double bytes, double per_clock) { return static_cast<Time>(std::ceil(bytes / per_clock)); }

Time State::ready_time(WarpState const& w) const {
  Blocked const& blocked = w.blocked;
  switch (blocked.kind) {
    case Blocked::Kind::none:
    case Blocked::Kind::condition:
    case Blocked::Kind::registers:
      return w.now;
    case Blocked::Kind::mbarrier: {
      Mbarrier const& b = *mbarriers[static_cast<std::size_t>(blocked.index)];
      // The wait for parity 1 of a fresh object passes at once.
      return b.state.phase() == 0 ? w.now : std::max(w.now, b.completed_time);
    }
    case Blocked::Kind::barrier:
      return std::max(w.now, blocked.time);
    case Blocked::Kind::cluster:
      return std::max(w.now, clusters[static_cast<std::size_t>(w.cta / options.cluster)].completed_time);
    case Blocked::Kind::group:
      return std::max(w.now, groups_time(w, blocked));
  }
  return w.now;
}

Time State::groups_time(WarpState const& w, Blocked const& blocked) const {
  GroupQueue const& q =
      const_cast<State*>(this)->queue(const_cast<WarpState&>(w), static_cast<Mechanism>(blocked.index));
  Time time = 0;
  int youngest = blocked.pending;
  for (std::size_t i = q.groups.size(); i-- > 0;) {
    GroupQueue::Group const& group = q.groups[i];
    if ((group.lanes & blocked.lanes) == 0 || youngest-- > 0) continue;
    if (blocked.read && (group.unread_lanes & blocked.lanes) == 0) continue;
    for (GroupQueue::Member const& member : q.members) {
      if (member.group != group.number) continue;
      Operation const& op = operations[member.operation];
      time = std::max(time, blocked.read ? op.read_time : op.end_time);
    }
  }
  return time;
}

void State::time_operation(WarpState& w, Operation& op, double bytes, Time product) {
  op.read_time = op.end_time = w.now;
  if (costs == nullptr) return;
  Units& units = ctas[static_cast<std::size_t>(w.cta)].units;
  switch (op.kind) {
    case OpKind::copy_in:
      op.read_time = units.global.take(w.now, clocks_for(bytes, costs->global_bytes_per_clock));
      op.end_time = op.read_time + static_cast<Time>(costs->copy_latency);
      break;
    case OpKind::copy_out:
      op.read_time = units.global.take(w.now, clocks_for(bytes, costs->global_bytes_per_clock)) +
                     static_cast<Time>(costs->store_latency);
      op.end_time = op.read_time + static_cast<Time>(costs->global_latency);
      break;
    case OpKind::cp_async:
      op.end_time = units.global.take(w.now, clocks_for(bytes, costs->global_bytes_per_clock)) +
                    static_cast<Time>(costs->global_latency);
      w.cp_time = std::max(w.cp_time, op.end_time);
      break;
    case OpKind::cp_arrive:
      op.end_time = std::max(w.now, w.cp_time);
      break;
    case OpKind::wgmma: {
      Unit& core = units.tensor_cores[static_cast<std::size_t>(w.index) % Units::quarters];
      w.product_time = core.take(std::max(w.now, w.product_time), product);  // one warp's products end in order
      op.end_time = w.product_time + static_cast<Time>(costs->product_latency);
      break;
    }
  }
}

// --- what a warp does ------------------------------------------------------------------------------------------------

CostModel const* Warp::costs() const { return state_->costs; }

Time Warp::now() const { return state_->warps[static_cast<std::size_t>(number_)]->now; }

void Warp::wait_until_time(Time time) {
  Time& now = state_->warps[static_cast<std::size_t>(number_)]->now;
  now = std::max(now, time);
}

void Warp::spend(Time clocks) { state_->warps[static_cast<std::size_t>(number_)]->now += clocks; }

void Warp::start_instructions(Time count) {
  WarpState& w = *state_->warps[static_cast<std::size_t>(number_)];
  constexpr Time few = 8;  // the scheduler puts them between the instructions of the other warps
  if (count <= few) {
    w.now += count;
    return;
  }
  Units& units = state_->ctas[static_cast<std::size_t>(w.cta)].units;
  w.now = units.schedulers[static_cast<std::size_t>(w.index) % Units::quarters].take(w.now, count);
}

Time Warp::transfer(Port port, double bytes) {
  WarpState& w = *state_->warps[static_cast<std::size_t>(number_)];
  CostModel const* const costs = state_->costs;
  if (costs == nullptr) return w.now;
  Units& units = state_->ctas[static_cast<std::size_t>(w.cta)].units;
  if (port == Port::shared) return units.shared.take(w.now, State::clocks_for(bytes, costs->shared_bytes_per_clock));
  return units.global.take(w.now, State::clocks_for(bytes, costs->global_bytes_per_clock));
}

Time Warp::multiply(Time clocks) {
  WarpState& w = *state_->warps[static_cast<std::size_t>(number_)];
  Units& units = state_->ctas[static_cast<std::size_t>(w.cta)].units;
  return units.tensor_cores[static_cast<std::size_t>(w.index) % Units::quarters].take(w.now, clocks);
}

}  // namespace tegula::sim::machine

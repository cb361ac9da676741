// Decides happens-before between a recorded access and an action of some lanes.
#include <bit>

#include "sim/machine/state.hpp"

namespace tegula::sim::machine {
namespace {

/// Tells whether a lane's own accesses are ordered. Its program orders them; across proxies only its own fence does.
bool own_order(WarpClocks::LaneClass const& c, Plane plane, std::uint32_t time) {
  return plane == Plane::order || plane == Plane::waits || c.fenced[static_cast<std::size_t>(plane)] >= time;
}

}  // namespace

bool State::knows(WarpState const& w, Lanes observing, int of, Lanes lanes, std::uint32_t time, Plane plane,
                  bool any) const {
  WarpClocks const& other = warps[static_cast<std::size_t>(of)]->clocks;
  bool const same_warp = of == w.number;
  for (std::size_t i = 0; i < w.clocks.class_count(); ++i) {
    WarpClocks::LaneClass const& c = w.clocks.lane_class(i);
    Lanes const sub = c.lanes & observing;
    if (sub == 0 || c.clock.at(plane, other.slot()) >= time) continue;
    auto const lane_known = [&](int number) {
      Slot const slot = other.lane_slot(number);
      return slot != no_slot && c.clock.at(plane, slot) >= time;
    };
    bool known = false;
    if (any) {
      known = same_warp && (sub & ~lanes) == 0 && own_order(c, plane, time);
      for (Lanes rest = lanes; rest != 0 && !known; rest &= rest - 1) known = lane_known(std::countr_zero(rest));
    } else {
      known = true;
      for (Lanes rest = lanes; rest != 0 && known; rest &= rest - 1) {
        int const number = std::countr_zero(rest);
        known = (same_warp && sub == lane(number) && own_order(c, plane, time)) || lane_known(number);
      }
    }
    if (!known) return false;
  }
  return true;
}

bool State::knows_slot(WarpState const& w, Lanes observing, Slot slot, std::uint32_t time, Plane plane) const {
  for (std::size_t i = 0; i < w.clocks.class_count(); ++i) {
    WarpClocks::LaneClass const& c = w.clocks.lane_class(i);
    if ((c.lanes & observing) != 0 && c.clock.at(plane, slot) < time) return false;
  }
  return true;
}

Order State::order_by_wait(AccessRecord const& earlier, std::uint32_t code, WarpState const& w, Lanes observing,
                           bool needs_fence, Plane plane) const {
  if (earlier.waited_lanes == 0) return Order::unordered;
  // cp.async is waited for lane by lane; the other groups end as a whole, so any lane that waited will do.
  bool const any = earlier.mechanism != Mechanism::cp_group;
  Lanes const executed = code == every_lane ? earlier.lanes : lane(static_cast<int>(code));
  Lanes const lanes = any ? earlier.waited_lanes : executed;
  Plane const end = earlier.mechanism == Mechanism::wgmma_group ? Plane::waits : Plane::order;
  if ((lanes & ~earlier.waited_lanes) != 0) return Order::unordered;
  if (!knows(w, observing, earlier.warp, lanes, earlier.waited_time, end, any)) return Order::unordered;
  bool const fenced = !needs_fence || knows(w, observing, earlier.warp, lanes, earlier.waited_time, plane, any);
  return fenced ? Order::ordered : Order::unfenced;
}

Order State::order(AccessRecord const& earlier, std::uint32_t code, WarpState const& w, Lanes observing, Proxy next,
                   Plane plane) const {
  if (earlier.warp == host_warp) return Order::ordered;
  if (earlier.warp == preceding_grid) {
    return knows_slot(w, observing, preceding_slot, 1) ? Order::ordered : Order::unordered;
  }
  bool const needs_fence = earlier.proxy == Proxy::generic && next == Proxy::async;
  if (!earlier.asynchronous()) {
    Lanes const lanes = code == every_lane ? earlier.lanes : lane(static_cast<int>(code));
    if (!knows(w, observing, earlier.warp, lanes, earlier.time, Plane::order, false)) return Order::unordered;
    if (needs_fence && !knows(w, observing, earlier.warp, lanes, earlier.time, plane, false)) return Order::unfenced;
    return Order::ordered;
  }
  Order const result = order_by_wait(earlier, code, w, observing, needs_fence, plane);
  if (result == Order::ordered) return result;
  if (earlier.signal_time != 0 && knows_slot(w, observing, earlier.signal, earlier.signal_time)) {
    if (!needs_fence || knows_slot(w, observing, earlier.signal, earlier.signal_time, plane)) return Order::ordered;
    return Order::unfenced;
  }
  return result;
}

}  // namespace tegula::sim::machine

// Decides when a waiting warp may go on, and runs the effects of its wait.
#include "sim/machine/state.hpp"
#include "tegula/support/warp.hpp"

namespace tegula::sim::machine {

bool State::can_resume(WarpState const& w) const {
  Blocked const& blocked = w.blocked;
  switch (blocked.kind) {
    case Blocked::Kind::none:
      return true;
    case Blocked::Kind::mbarrier:
      return wait_done(w, blocked);
    case Blocked::Kind::barrier:
      return blocked.ready;
    case Blocked::Kind::cluster:
      return clusters[static_cast<std::size_t>(w.cta / options.cluster)].generation >=
             static_cast<std::uint32_t>(blocked.phase);
    case Blocked::Kind::group:
      return groups_done(w, blocked);
    case Blocked::Kind::registers:
      return ctas[static_cast<std::size_t>(w.cta)].free_registers >=
             std::uint64_t{warp_lanes} * (blocked.amount - w.registers);
    case Blocked::Kind::condition:
      return blocked.condition(blocked.context, blocked.payload);
  }
  return true;
}

void State::resume(WarpState& w) {
  w.now = ready_time(w);
  Blocked const blocked = w.blocked;
  w.blocked = {};
  switch (blocked.kind) {
    case Blocked::Kind::none:
      break;
    case Blocked::Kind::mbarrier:
      pass_wait(w, blocked);
      break;
    case Blocked::Kind::barrier:
      break;  // the completing warp handed the clock over
    case Blocked::Kind::cluster:
      w.touched.write(object_of_cluster);
      w.clocks.acquire(all_lanes, clusters[static_cast<std::size_t>(w.cta / options.cluster)].completed);
      break;
    case Blocked::Kind::group:
      pass_groups(w, blocked);
      break;
    case Blocked::Kind::registers:
      w.touched.write(object_of_pool + static_cast<std::uint64_t>(w.cta));
      ctas[static_cast<std::size_t>(w.cta)].free_registers -=
          std::uint64_t{warp_lanes} * (blocked.amount - w.registers);
      w.registers = blocked.amount;
      break;
    case Blocked::Kind::condition:
      w.touched.write(object_of_condition);
      break;
  }
}

void State::block(WarpState& w, Blocked&& blocked) {
  w.blocked = std::move(blocked);
  if (can_resume(w)) resume(w);
}

}  // namespace tegula::sim::machine

// Defines the record of an access: the agent that touched bytes, the time, the path, and the way in which the end of an
// asynchronous one becomes known.
#pragma once

#include <cstdint>

#include "sim/machine/clock.hpp"
#include "sim/machine/types.hpp"

namespace tegula::sim::machine {

/// Names the event that makes the end of an access known to others.
enum class Mechanism : std::uint8_t {
  program_order,  // an ordinary access: done when the next instruction of its lane runs
  mbarrier,       // a copy into shared memory: a successful wait on the phase that counted its bytes
  bulk_group,     // a copy out of shared memory: bulk wait_group of the issuing lane
  cp_group,       // cp.async: wait_group of the issuing lane, or an mbarrier by cp.async.mbarrier.arrive
  wgmma_group,    // wgmma: wait_group of the issuing warp
};

/// Numbers of warps that are not warps of the machine.
inline constexpr std::uint16_t host_warp = 0xffff;       // before the kernel
inline constexpr std::uint16_t preceding_grid = 0xfffe;  // the grid that programmatic dependent launch overlaps with

/// Records one action's accesses of one kind. A `AccessRef` names a record and the lane of it that touched a given
/// byte.
struct AccessRecord {
  ActionSite site;
  Lanes lanes = 0;
  std::uint32_t time = 0;
  std::uint16_t warp = host_warp;
  Proxy proxy = Proxy::generic;
  Mechanism mechanism = Mechanism::program_order;
  bool write = false;
  bool atomic = false;
  bool of_cta = false;      ///< an atomic that is one step for the threads of its CTA alone
  bool committed = true;    // false: of a group mechanism, and in no group yet
  bool performed = false;   // an asynchronous access that took place in this run (its end may still be unknown to all)
  std::uint32_t shape = 0;  // wgmma: accumulator chains of one shape need no wait
  // The end is known from this lane set at this time ...
  Lanes waited_lanes = 0;
  std::uint32_t waited_time = 0;
  // ... or from this slot (an mbarrier) at this time (completed phases).
  Slot signal = no_slot;
  std::uint32_t signal_time = 0;
  std::int32_t mbarrier = -1;

  [[nodiscard]] bool asynchronous() const { return mechanism != Mechanism::program_order; }
};

/// Encodes record number * 64 + lane (every_lane: all lanes of the action); 0 is "none".
using AccessRef = std::uint32_t;
inline constexpr AccessRef no_access = 0;
inline constexpr AccessRef make_ref(std::uint32_t record, std::uint32_t lane) { return record << 6 | lane; }
inline constexpr std::uint32_t record_of(AccessRef ref) { return ref >> 6; }
inline constexpr std::uint32_t lane_of(AccessRef ref) { return ref & 63u; }

}  // namespace tegula::sim::machine

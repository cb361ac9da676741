// Writes logs of events: the meaning of profile_begin, profile_append and profile_end, for whole tiles and for warps.
// The buffer has the format of tegula/abi/profile_format.hpp. Warps write their rows there at once, whether or not the
// kernel keeps them in shared memory first.
#pragma once

#include <cstdint>

#include "sim/agent.hpp"

namespace tegula::sim {

/// Holds a point in simulated time.
struct LogTime {
  std::uint64_t ns = 0;
  std::uint32_t cycles = 0;
};

/// Returns the time where nothing else counts it: the ops executed so far.
LogTime steps_of(Launch const& launch);

/// Begin, continue and end the log of warp `warp` of the agent's block.
void begin_log(Agent& agent, ir::Op const& op, int warp, int warps_per_group, LogTime now);
void append_to_log(Agent& agent, ir::Op const& op, LogTime now);
void end_log(Agent& agent, ir::Op const& op, LogTime now);

}  // namespace tegula::sim

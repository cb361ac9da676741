// Lines up the clocks of rows: 32 bits of a processor's cycle counter and a timer that all processors share.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tegula/abi/profile_format.hpp"

namespace tegula::profiling {

/// Relates the clock of one row to time.
struct RowClock {
  double start = 0;         ///< ns since the first row: time of the row's start
  double stop = 0;          ///< ns; only for rows that ended
  std::int64_t length = 0;  ///< clocks from start to stop; only for rows that ended
};

/// Holds the clocks of all rows, in the order given.
struct Clocks {
  double clocks_per_ns = 1;
  std::uint64_t origin = 0;  ///< the timer at time 0
  std::vector<RowClock> rows;
};

/// True if the row's warp reached its end.
bool has_ended(ProfileRowHeader const& row);

/// Lines up rows. All rows of one launch on one processor share one line from clock to time, so that their order is
/// exact to the clock although the timer is coarse. The rate comes from the rows if they are long enough, else it is
/// `nominal`.
Clocks line_up(std::span<ProfileRowHeader const> rows, double nominal);

}  // namespace tegula::profiling

// Keeps virtual time: clocks of warps, and of the units that they share. The costs are the target's (CostModel);
// nothing here changes the order of a run or its findings. Without costs each action takes one clock.
#pragma once

#include <cstdint>
#include <vector>

namespace tegula::sim::machine {

/// Counts clocks since the launch.
using Time = std::uint64_t;

/// Keeps the busy intervals of one unit. Requests come in the order of the run, which need not be that of virtual time,
/// so a request takes the first gap that is long enough.
class Unit {
 public:
  /// Occupies the unit for `clocks`, not before `from`; returns the end.
  Time take(Time from, Time clocks);
  void reset() { busy_.clear(); }

 private:
  struct Interval {
    Time begin;
    Time end;
  };
  std::vector<Interval> busy_;  ///< ascending; neighbours that touch are one
};

/// Holds the units of one multiprocessor, which holds one CTA.
struct Units {
  static constexpr std::size_t quarters = 4;
  Unit schedulers[quarters];
  Unit tensor_cores[quarters];
  Unit shared;
  Unit global;
  void reset();
};

}  // namespace tegula::sim::machine

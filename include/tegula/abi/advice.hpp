// Says what limits a launch, what keeps it from that limit, and what to change in the kernel or its arguments.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tegula/support/location.hpp"

namespace tegula {

/// Describes one thing that a launch loses time by.
struct SlowSpot {
  enum class Kind : std::uint8_t {
    narrow_access,  ///< threads move few bytes at once
    pointer_load,   ///< a rule of TMA keeps a tile of a loop from being copied ahead
    wasted_bytes,   ///< rows of a tile that are shorter than a sector
    indexed,        ///< gathers, scatters and atomics element by element
    product,        ///< a product by a slower instruction
    small_tile,     ///< tiles of a product that fetch their operands too often
    empty_tile,     ///< rows or columns of a product that lie outside, or that the compiler added
    no_stages,      ///< a loop whose loads do not run ahead
    shallow_ring,   ///< fewer stages than were asked for
    spills,         ///< values that go to local memory and back
    grid,           ///< multiprocessors without a block
    small_blocks,   ///< blocks that end before they have moved much
    function,       ///< a function of which a faster one exists, or that a table replaces
    rounding,       ///< sums and products that are rounded apart
    checks,         ///< checks, asserts or records that the options ask for
    launch,         ///< a launch that takes longer than its work
  };
  Kind kind = Kind::narrow_access;
  location where;      ///< in the user's source
  std::string memory;  ///< name of the tensor; empty: none
  std::string what;    ///< what is slow, with its values
  std::string remedy;
  double gain = 0;  ///< share of the launch's time that the remedy saves, by the model
};
/// Returns "narrow access" and so on.
[[nodiscard]] char const* name(SlowSpot::Kind kind);

/// Says what a launch could reach, what it is expected to reach, and what costs the difference.
struct Advice {
  /// Names what bounds the time from below: no order of the same work is faster.
  enum class Limit : std::uint8_t { memory, tensor_cores, issue_slots, functions, latency };
  Limit limit = Limit::memory;
  std::string rate;            ///< of the device at its limit, "4.6 TB/s"; empty of latency
  double min_seconds = 0;      ///< at the limit
  double seconds = 0;          ///< expected
  double measured = 0;         ///< seconds of the latest measured launch; 0: none was measured
  std::vector<SlowSpot> slow;  ///< what costs most first; three at most. Empty: nothing is known that would help

  /// Returns the share of the limit that is expected.
  [[nodiscard]] double share() const { return seconds > 0 ? min_seconds / seconds : 1; }
  /// Returns the share that was measured; 0: none.
  [[nodiscard]] double measured_share() const { return measured > 0 ? min_seconds / measured : 0; }
  /// Returns a line for the limit and one for each slow spot, indented by so many blanks.
  [[nodiscard]] std::string str(int indent = 0) const;
};
[[nodiscard]] char const* name(Advice::Limit limit);

}  // namespace tegula

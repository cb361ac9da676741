// Defines the mbarrier object: transitions and nothing else (PTX ISA, "mbarrier"). Full phase numbers are kept.
#pragma once

#include <cstdint>

namespace tegula::sim::machine {

/// Explains why a transition is not allowed.
enum class MbarrierFault : std::uint8_t {
  none,
  bad_count,     // init with 0 or more than 2^20 - 1
  already_live,  // init of a live object
  not_live,      // any use before init or after inval
  over_arrival,  // more arrivals than the phase still expects
  late_expect,   // bytes expected after the last arrival, when they have come
  tx_range,      // the byte count of the phase left [-(2^20 - 1), 2^20 - 1]
};

/// Holds the state of one object. A transition that is refused changes nothing. settle() is part of the transitions:
/// after each, `completed` says whether the phase ended.
class MbarrierState {
 public:
  static constexpr std::int64_t limit = (1 << 20) - 1;

  [[nodiscard]] bool live() const { return live_; }
  /// Counts the completed phases since init, which is the number of the current phase.
  [[nodiscard]] std::uint32_t phase() const { return phase_; }
  [[nodiscard]] std::int64_t expected() const { return expected_; }
  [[nodiscard]] std::int64_t pending() const { return pending_; }
  [[nodiscard]] std::int64_t tx() const { return tx_; }
  /// Tells whether nobody arrived in this phase and no bytes are owed.
  [[nodiscard]] bool balanced() const { return pending_ == expected_ && tx_ == 0; }
  /// Tells whether a wait passes: the current phase has the other parity, so the phase of this parity has just
  /// finished.
  [[nodiscard]] bool passes(std::uint32_t parity) const { return (phase_ & 1u) != parity; }

  MbarrierFault init(std::int64_t count);
  MbarrierFault inval();
  /// Ends no phase: bytes are expected before the last arrival, or while others are still owed.
  MbarrierFault expect(std::int64_t bytes);
  MbarrierFault complete(std::int64_t bytes);
  MbarrierFault arrive(std::int64_t count);
  /// Adds bytes to tx, then arrives once.
  MbarrierFault arrive_expect(std::int64_t bytes);
  /// Arrives once, and expects one arrival fewer in later phases.
  MbarrierFault arrive_drop();
  /// Adds one pending arrival in this phase (cp.async.mbarrier.arrive without .noinc).
  MbarrierFault add_pending();

  [[nodiscard]] bool completed() const { return completed_; }

 private:
  void settle();
  [[nodiscard]] static bool in_range(std::int64_t tx) { return tx >= -limit && tx <= limit; }

  bool live_ = false;
  bool completed_ = false;
  std::uint32_t phase_ = 0;
  std::int64_t expected_ = 0;
  std::int64_t pending_ = 0;
  std::int64_t tx_ = 0;
};

}  // namespace tegula::sim::machine

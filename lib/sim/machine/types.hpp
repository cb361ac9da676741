// Defines the plain types of the block-level machine: source tags, lanes, byte sets, proxies, effects. No behaviour
// here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "tegula/support/location.hpp"

namespace tegula::sim::machine {

/// Names the place of an action: the user's line, the line of the IR text, and the op's name. The strings belong to the
/// driver and outlive the machine's run; the machine only prints them.
struct ActionSite {
  char const* file = "";
  std::uint32_t line = 0;
  std::uint32_t ir_line = 0;
  char const* op = "";

  static ActionSite at(char const* op, std::uint32_t ir_line = 0, location where = location::current()) {
    return {where.file(), where.line(), ir_line, op};
  }
  friend bool operator==(ActionSite const&, ActionSite const&) = default;
};

/// Prints "gemm.cpp:41 (ir 77)"; "ir 77" or "an unknown place" where less is known. Only the last part of the path is
/// shown.
std::string place_text(ActionSite const&);

/// Holds a set of lanes of one warp, bit l for lane l.
using Lanes = std::uint32_t;
inline constexpr Lanes all_lanes = 0xffffffffu;
inline constexpr Lanes lane(int number) { return Lanes{1} << number; }

/// Stands for all lanes in a LaneBytes: every lane that takes part in the action touches these bytes.
inline constexpr std::uint32_t every_lane = 32;

/// Holds a half-open byte interval of one space, touched by one lane of the action (or by each of them).
struct LaneBytes {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint32_t lane = every_lane;
};

/// Numbers a memory: the shared memory of a CTA, a global buffer, or the register file of a warp.
using Space = std::uint32_t;

/// Lists the bytes of one space that an action touches. Refers to the caller's array (or holds one interval itself);
/// the machine reads it during the call only.
class Footprint {
 public:
  Footprint() = default;
  Footprint(Space space, std::uint64_t begin, std::uint64_t end) : space_(space), one_{begin, end, every_lane} {}
  Footprint(Space space, std::span<LaneBytes const> ranges)
      : space_(space), many_(ranges.data()), count_(ranges.size()) {}

  [[nodiscard]] Space space() const { return space_; }
  [[nodiscard]] bool empty() const { return begin() == end(); }
  [[nodiscard]] LaneBytes const* begin() const { return many_ != nullptr ? many_ : &one_; }
  [[nodiscard]] LaneBytes const* end() const {
    return many_ != nullptr ? many_ + count_ : &one_ + (one_.end > one_.begin ? 1 : 0);
  }

 private:
  Space space_ = 0;
  LaneBytes one_;
  LaneBytes const* many_ = nullptr;
  std::size_t count_ = 0;
};

/// Names the path by which an access reaches memory.
enum class Proxy : std::uint8_t { generic, async };

/// Names the spaces that a proxy fence covers.
enum class FenceSpace : std::uint8_t { shared, global, all };

/// Names the scope of a release or acquire on an mbarrier. cluster_relaxed: an arrival that
/// releases what its thread has waited for, not its own ordinary accesses.
enum class Scope : std::uint8_t { cta, cluster, cluster_relaxed };

/// Names the moment of an effect's call: after the source was read (stores only), and when the result is written.
enum class Moment : std::uint8_t { read_source, write_result };

/// Moves the values of an asynchronous operation. The machine calls it at the simulated time of the access: a late
/// copy leaves old bytes, and an early one takes the present ones. `run` may be null.
struct Effect {
  void (*run)(void* context, std::uint64_t payload, Moment moment) = nullptr;
  void* context = nullptr;
  std::uint64_t payload = 0;

  void operator()(Moment moment) const {
    if (run != nullptr) run(context, payload, moment);
  }
};

/// Names an mbarrier object: the CTA that owns it and its byte offset in that CTA's shared memory.
struct MbarrierAddress {
  int cta = 0;
  std::uint32_t offset = 0;
};

}  // namespace tegula::sim::machine

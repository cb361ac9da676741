// Describes the machine's findings: plain data, and its text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/machine/types.hpp"

namespace tegula::sim::machine {

enum class ReportKind : std::uint8_t {
  race_raw,             // a read not ordered after the write it meets
  race_war,             // a write not ordered after an earlier read
  race_waw,             // two writes without order
  missing_proxy_fence,  // ordered, but generic before async without fence.proxy.async by the accessing thread
  missing_wgmma_fence,  // registers of a wgmma were touched since the last wgmma.fence
  never_written,        // a read of bytes that nobody wrote
  stale,                // a read of bytes that were given up
  deadlock,             // every live agent waits
  livelock,             // the step limit was reached
  wrong_byte_count,     // expected and delivered bytes of an mbarrier phase differ
  phase_error,          // arrivals or waits of the wrong phase
  use_before_init,      // an mbarrier used where its init is not known
  dead_barrier,         // an mbarrier used after inval, initialised twice, or its bytes touched while it lives
  barrier_misuse,       // named and CTA barriers: lanes, counts, participants
  register_pool,        // setmaxnreg
  wrong_scope,          // a release from another CTA with .cta scope
  peer_lifetime,        // shared memory of a CTA that may not have started or may be gone
  descriptor,           // tensor map in global memory used without an acquire after its last write
  misaligned,           // an address or a size that the copy engine refuses
  open_at_exit,         // an asynchronous operation that nobody waited for
  unbalanced_at_exit,   // a barrier left in the middle of a phase
  misuse,               // an action that is not possible (a wrong group, an unknown space)
};

std::string_view name(ReportKind);

/// Describes one side of a report.
struct Side {
  std::string text;  // "write %ring+0x400..0x800 by warp 4 lane 3 (generic proxy)"
  ActionSite site;
  [[nodiscard]] bool present() const { return !text.empty(); }
};

struct Report {
  ReportKind kind = ReportKind::misuse;
  std::string sentence;  // names the missing order
  Side earlier;
  Side later;
  std::vector<std::string> notes;  // for a deadlock: one line per agent that waits
  std::string schedule;            // replays the run
  std::uint64_t step = 0;

  /// Prints several lines without a final newline: "<kind>: <sentence>", the two sides, notes, the schedule.
  [[nodiscard]] std::string text() const;
};

}  // namespace tegula::sim::machine

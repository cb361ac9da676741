// Holds the records of a profiled kernel after decoding: events of warps, statistics, waits, and their files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tegula/abi/profile_format.hpp"

namespace tegula {

/// Holds one pair of records of one warp, or a record without its other half. Times are in ns since the first record.
struct ProfileEvent {
  enum class State : std::uint8_t {
    whole,
    no_start,  ///< a stop without its start: start and stop are its time
    no_stop,   ///< a start without its stop: stop is the end of the row
  };
  std::int32_t name = 0;   ///< index into Profile::names
  std::int32_t row = 0;    ///< index into Profile::rows
  std::int32_t depth = 0;  ///< 0 for an event that no other one of the row holds
  State state = State::whole;
  double start = 0;
  double stop = 0;
  double duration = 0;      ///< ns from start to stop without the cost of records; 0 for halves
  std::int64_t clocks = 0;  ///< from start to stop as read, with the cost of records
  std::optional<std::int64_t> value;
};

/// Describes one warp of one CTA of one launch. Its events are `events` ones from `first_event`, by start.
struct ProfileRow {
  std::uint64_t launch = 0;
  std::uint32_t cta = 0;
  std::uint32_t warp = 0;
  std::uint32_t processor = 0;
  std::int32_t role = -1;  ///< index into Profile::roles; -1: the warp has none
  bool ended = true;       ///< the warp reached its end
  double start = 0;        ///< ns
  double stop = 0;         ///< ns; of a warp that did not reach its end: its last record
  std::int64_t dropped_slots = 0;
  std::int32_t first_event = 0;
  std::int32_t events = 0;
};

/// Summarises the whole events of one name in the warps of one role. Durations are in ns, without the cost of records.
struct ProfileStatistic {
  std::int32_t name = 0;
  std::int32_t role = -1;
  std::int64_t count = 0;
  double min = 0;
  double median = 0;
  double max = 0;
  double sum = 0;
  double share = 0;         ///< of the time of the role's warps, 0 to 1
  std::int64_t halves = 0;  ///< events without start or without stop
};

/// Says how long the two sides of a ring waited for each other, in per cent of the time of the warps that waited.
struct ProfileWait {
  std::string ring;
  double consumers = 0;  ///< waits for a filled stage
  double producers = 0;  ///< waits for a free stage
};

/// Selects the part of a profile that a picture shows.
struct ProfileView {
  double from = 0;            ///< ns
  double to = 0;              ///< ns; 0: the end
  std::int32_t rows = 32;     ///< at most so many warps, the first ones
  std::int32_t width = 1200;  ///< of the picture, in pixels
};

/// Holds the records of one kernel on one device, or the launches of several: a row is then a kernel, an event a
/// launch.
struct Profile {
  std::string kernel;
  std::string device;  ///< "cuda:0 NVIDIA H200", "host", "simulator"
  /// Says what ProfileRow::processor numbers: "SM", "thread", "CTA"; empty: rows are kernels, named by their roles.
  std::string processor_word = "CTA";
  ProfileStrategy strategy = ProfileStrategy::shared;
  std::vector<ProfileName> names;
  std::vector<ProfileRole> roles;
  std::vector<ProfileRow> rows;  ///< by launch, CTA and warp
  std::vector<ProfileEvent> events;
  std::uint64_t origin = 0;  ///< time 0 by the timer of the device, in ns
  double clocks_per_ns = 0;
  double record_clocks = 0;          ///< cost of one record, subtracted in ProfileEvent::duration
  std::int64_t dropped_rows = 0;     ///< claimed beyond the rows of the buffer
  std::int64_t unwritten_rows = 0;   ///< claimed by warps that did not get to write them
  std::int64_t dropped_slots = 0;    ///< did not fit, or were written over
  std::int64_t malformed_slots = 0;  ///< hold no record that a kernel writes
  std::int64_t uncertain_rows = 0;   ///< 2^32 clocks or more passed somewhere between their records
  std::int64_t shared_bytes = 0;     ///< dynamic shared memory that records took, of each CTA
  std::int64_t buffer_bytes = 0;     ///< of device memory

  [[nodiscard]] bool empty() const { return rows.empty(); }
  /// Returns the text that stands for a name: "softmax", "fill a", "wait full a".
  [[nodiscard]] std::string label(std::int32_t name) const;
  /// Returns "producer", or "" for a row without a role.
  [[nodiscard]] std::string role_name(std::int32_t role) const;
  /// Returns the end of the last event or row, in ns.
  [[nodiscard]] double duration() const;

  /// Lists statistics by role, then by falling sum.
  [[nodiscard]] std::vector<ProfileStatistic> statistics() const;
  /// Lists the rings in the order of their names' numbers.
  [[nodiscard]] std::vector<ProfileWait> waits() const;

  /// Prints statistics, waits, sizes, and all that was dropped.
  [[nodiscard]] std::string str() const;
  /// Returns the events in the Chrome trace format, which Perfetto opens: one track per processor, CTA and warp.
  [[nodiscard]] std::string trace() const;
  /// Returns a page with the summary and a timeline that can be zoomed; it needs no network.
  [[nodiscard]] std::string page() const;
  /// Returns a picture of the timeline.
  [[nodiscard]] std::string svg(ProfileView const& view = {}) const;

  /// Names the files that save() wrote.
  struct Files {
    std::string trace;
    std::string page;
    std::string svg;
    std::string summary;
  };
  /// Writes trace, page, picture and summary into a folder, which is made. Throws UserError if that fails.
  Files save(std::string const& folder) const;
};

}  // namespace tegula

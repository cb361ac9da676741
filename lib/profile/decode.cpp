#include "profile/decode.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <tuple>
#include <utility>

#include "profile/clocks.hpp"
#include "tegula/support/error.hpp"

namespace tegula::profiling {
namespace {

/// Names a start or a stop of a row.
struct Record {
  bool start = true;
  std::int32_t name = 0;
  std::int32_t slot = 0;   // a start and the stop of another name may share one
  std::uint32_t low = 0;   // of the clock
  std::int64_t clock = 0;  // since the row's start
  std::optional<std::int64_t> value;
};

/// Holds the records of one row, oldest first.
struct Records {
  std::vector<Record> list;
  std::int64_t dropped = 0;
  std::int64_t malformed = 0;
  bool from_start = true;  ///< the oldest record is the row's first
};

std::int64_t value_of(ProfileSlot const& slot) {
  std::uint64_t const bits = std::uint64_t{slot.tag & 0x3fffffffu} << 32 | slot.low;
  return static_cast<std::int64_t>(bits << 2) >> 2;  // the sign is bit 61
}

Records records_of(ProfileLayout const& layout, ProfileRowHeader const& header, std::byte const* slots) {
  Records result;
  std::uint64_t const written = header.slots_written;
  auto const room = static_cast<std::uint64_t>(layout.slots);
  std::uint64_t const kept = std::min(written, room);
  result.dropped = static_cast<std::int64_t>(written - kept);
  bool const over = layout.circular && written > room;
  result.from_start = !over;
  bool wants_value = over;  // the value of a record that was written over
  bool at_edge = over;
  for (std::uint64_t i = 0; i < kept; ++i) {
    ProfileSlot slot;
    std::uint64_t const at = over ? (written + i) % room : i;
    std::memcpy(&slot, slots + at * sizeof slot, sizeof slot);
    auto const kind = static_cast<ProfileSlotKind>(slot.tag >> 30);
    if (kind == ProfileSlotKind::value) {
      if (!wants_value)
        ++result.malformed;
      else if (!at_edge)
        result.list.back().value = value_of(slot);
      wants_value = at_edge = false;
      continue;
    }
    wants_value = at_edge = false;
    auto const names = static_cast<std::int64_t>(layout.names.size());
    std::int64_t const name = slot.tag & 0xffffu, stopped = profile_stopped(slot.tag);
    bool const starts = kind == ProfileSlotKind::start;
    if (kind == ProfileSlotKind::empty || name >= names || stopped >= (starts ? names : 0)) {
      ++result.malformed;
      continue;
    }
    auto const number = static_cast<std::int32_t>(i);
    if (stopped >= 0) result.list.push_back({false, static_cast<std::int32_t>(stopped), number, slot.low, 0, {}});
    result.list.push_back({starts, static_cast<std::int32_t>(name), number, slot.low, 0, {}});
    wants_value = true;
  }
  return result;
}

/// Gives each record its clock since the row's start. Returns false if 2^32 clocks are missing somewhere: more passed
/// between two records than 32 bits count.
bool unwrap(Records& records, ProfileRowHeader const& header, RowClock const& clock) {
  bool const ended = has_ended(header);
  if (!records.from_start && ended) {  // the way back from the end is known
    std::int64_t now = clock.length;
    std::uint32_t low = header.stop_clock;
    for (std::size_t i = records.list.size(); i-- > 0;) {
      Record& record = records.list[i];
      now -= static_cast<std::uint32_t>(low - record.low);
      low = record.low;
      record.clock = now;
    }
    return records.list.empty() || records.list.front().clock >= 0;
  }
  std::int64_t now = 0;
  std::uint32_t low = header.start_clock;
  for (Record& record : records.list) {
    now += static_cast<std::uint32_t>(record.low - low);
    low = record.low;
    record.clock = now;
  }
  if (!ended || records.dropped > 0) return true;  // the clocks of dropped records are not known
  return now + static_cast<std::uint32_t>(header.stop_clock - low) == clock.length;
}

/// Finds the least number of clocks between two records, an upper bound of the cost of one.
std::int64_t min_step(std::vector<Records> const& all) {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (Records const& records : all)
    for (std::size_t i = 1; i < records.list.size(); ++i)
      if (records.list[i].slot != records.list[i - 1].slot)
        least = std::min(least, records.list[i].clock - records.list[i - 1].clock);
  return least;
}

std::int32_t role_of(ProfileLayout const& layout, std::uint32_t warp) {
  for (std::size_t i = 0; i < layout.roles.size(); ++i) {
    ProfileRole const& role = layout.roles[i];
    std::int64_t const first = role.first_warp;
    if (warp >= first && warp < first + role.warps) return static_cast<std::int32_t>(i);
  }
  return -1;
}

/// Joins starts and stops of one row. A stop belongs to the innermost open start of its name.
void add_events(Profile& profile, std::int32_t row_number, Records const& records) {
  ProfileRow& row = profile.rows[static_cast<std::size_t>(row_number)];
  row.first_event = static_cast<std::int32_t>(profile.events.size());
  struct Open {
    std::size_t event;
    std::size_t record;
  };
  std::vector<Open> open;
  auto const time = [&](Record const& record) {
    return row.start + static_cast<double>(record.clock) / profile.clocks_per_ns;
  };
  for (std::size_t i = 0; i < records.list.size(); ++i) {
    Record const& record = records.list[i];
    ProfileEvent event;
    event.name = record.name;
    event.row = row_number;
    event.start = event.stop = time(record);
    event.value = record.value;
    event.depth = open.empty() ? 0 : profile.events[open.back().event].depth + 1;
    if (record.start) {
      event.state = ProfileEvent::State::no_stop;
      event.stop = std::max(event.start, row.stop);
      open.push_back({profile.events.size(), i});
      profile.events.push_back(event);
      continue;
    }
    auto const start = std::find_if(open.rbegin(), open.rend(),
                                    [&](Open const& o) { return profile.events[o.event].name == record.name; });
    if (start == open.rend()) {
      event.state = ProfileEvent::State::no_start;
      profile.events.push_back(event);
      continue;
    }
    ProfileEvent& whole = profile.events[start->event];
    whole.state = ProfileEvent::State::whole;
    whole.stop = time(record);
    whole.clocks = record.clock - records.list[start->record].clock;
    double const cost = profile.record_clocks * static_cast<double>(record.slot - records.list[start->record].slot);
    whole.duration = std::max(static_cast<double>(whole.clocks) - cost, 0.0) / profile.clocks_per_ns;
    if (!whole.value) whole.value = record.value;
    open.erase(std::next(start).base());
  }
  row.events = static_cast<std::int32_t>(profile.events.size()) - row.first_event;
}

void check(ProfileLayout const& layout, std::size_t bytes) {
  bool const sound = layout.rows >= 0 && layout.slots >= 0 &&
                     (layout.rows == 0 || std::has_single_bit(static_cast<std::uint32_t>(layout.slots)));
  if (!sound)
    throw UserError(
        fmt::format("profile: a buffer of {} rows of {} slots is described; expected counts from 0, and a "
                    "power of two of slots",
                    layout.rows, layout.slots));
  if (std::cmp_less(bytes, profile_buffer_bytes(layout)))
    throw UserError(
        fmt::format("profile: the buffer holds {} bytes but its {} rows of {} slots need {}; read it with "
                    "the layout of the kernel that filled it",
                    bytes, layout.rows, layout.slots, profile_buffer_bytes(layout)));
}

}  // namespace

void require_profiler() {}

Profile decode(ProfileLayout const& layout, std::span<std::byte const> buffer, Source const& source) {
  check(layout, buffer.size());
  Profile profile;
  profile.kernel = source.kernel;
  profile.device = source.device;
  profile.processor_word = source.processor_word;
  profile.strategy = layout.strategy;
  profile.names = layout.names;
  profile.roles = layout.roles;
  profile.shared_bytes = layout.shared_bytes;
  profile.buffer_bytes = profile_buffer_bytes(layout);
  profile.clocks_per_ns = source.clocks_per_ns > 0 ? source.clocks_per_ns : 1;
  if (layout.rows == 0) return profile;

  struct Found {
    ProfileRowHeader header;
    std::byte const* slots;
  };
  std::vector<Found> found;
  std::int64_t const in_group = profile_group_rows(layout);
  for (std::int32_t group = 0; group < profile_groups(layout); ++group) {
    std::uint32_t claimed = 0;
    std::memcpy(&claimed, buffer.data() + profile_counter_offset(layout, group), sizeof claimed);
    std::int64_t const count = std::min<std::int64_t>(claimed, in_group);
    profile.dropped_rows += claimed - count;
    for (std::int64_t i = 0; i < count; ++i) {
      std::byte const* const at =
          buffer.data() + profile_rows_offset(layout) + (group * in_group + i) * profile_row_bytes(layout);
      Found row{{}, at + sizeof(ProfileRowHeader)};
      std::memcpy(&row.header, at, sizeof row.header);
      if (row.header.start_time == 0)
        ++profile.unwritten_rows;
      else
        found.push_back(row);
    }
  }
  std::ranges::stable_sort(found, {}, [](Found const& f) {
    return std::tuple(f.header.launch, f.header.cta, f.header.warp, f.header.start_time);
  });
  std::vector<ProfileRowHeader> headers;
  for (Found const& row : found) headers.push_back(row.header);
  Clocks const clocks = line_up(headers, profile.clocks_per_ns);
  profile.clocks_per_ns = clocks.clocks_per_ns;

  std::vector<Records> all;
  for (std::size_t i = 0; i < found.size(); ++i) {
    ProfileRowHeader const& header = headers[i];
    Records records = records_of(layout, header, found[i].slots);
    if (!unwrap(records, header, clocks.rows[i])) ++profile.uncertain_rows;
    ProfileRow row;
    row.launch = header.launch;
    row.cta = header.cta;
    row.warp = header.warp;
    row.processor = header.processor;
    row.role = role_of(layout, header.warp);
    row.ended = has_ended(header);
    row.dropped_slots = records.dropped;
    row.start = clocks.rows[i].start;
    row.stop = row.ended ? clocks.rows[i].stop : row.start;
    if (!row.ended && !records.list.empty())
      row.stop += static_cast<double>(records.list.back().clock) / profile.clocks_per_ns;
    profile.rows.push_back(row);
    profile.dropped_slots += records.dropped;
    profile.malformed_slots += records.malformed;
    all.push_back(std::move(records));
  }
  double earliest = profile.rows.empty() ? 0 : std::numeric_limits<double>::max();  // by the processors' clocks
  for (ProfileRow const& row : profile.rows) earliest = std::min(earliest, row.start);
  profile.origin = clocks.origin + static_cast<std::uint64_t>(std::llround(earliest));
  for (ProfileRow& row : profile.rows) {
    row.start -= earliest;
    row.stop -= earliest;
  }
  profile.record_clocks =
      std::min(std::max(source.record_clocks, 0.0), static_cast<double>(std::max<std::int64_t>(min_step(all), 0)));
  for (std::size_t i = 0; i < all.size(); ++i) add_events(profile, static_cast<std::int32_t>(i), all[i]);
  return profile;
}

}  // namespace tegula::profiling

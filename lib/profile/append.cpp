// Joins the profiles of launches that wrote buffers of their own.
#include <utility>

#include "profile/decode.hpp"

namespace tegula::profiling {

void append(Profile& all, Profile const& launch, std::int64_t rows) {
  double const begin = all.duration();
  std::uint64_t const number = all.rows.empty() ? 0 : all.rows.back().launch + 1;
  all.dropped_rows += launch.dropped_rows;
  all.unwritten_rows += launch.unwritten_rows;
  all.malformed_slots += launch.malformed_slots;
  all.uncertain_rows += launch.uncertain_rows;
  for (ProfileRow row : launch.rows) {
    if (std::cmp_greater_equal(all.rows.size(), rows)) {
      ++all.dropped_rows;
      continue;
    }
    auto const first = launch.events.begin() + row.first_event;
    auto const row_number = static_cast<std::int32_t>(all.rows.size());
    row.launch = number + (row.launch - launch.rows.front().launch);
    row.start += begin;
    row.stop += begin;
    row.first_event = static_cast<std::int32_t>(all.events.size());
    all.dropped_slots += row.dropped_slots;
    all.rows.push_back(row);
    for (auto from = first; from != first + row.events; ++from) {
      ProfileEvent event = *from;
      event.row = row_number;
      event.start += begin;
      event.stop += begin;
      all.events.push_back(event);
    }
  }
}

}  // namespace tegula::profiling

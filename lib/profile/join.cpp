// Joins the profiles of several kernels to a timeline of their launches.
#include <algorithm>
#include <map>
#include <utility>

#include "profile/decode.hpp"

namespace tegula::profiling {
namespace {

struct Span {
  double start = 0, stop = 0;
  double waited = 0;  ///< end of the wait for the previous launch; 0: none
};

/// Finds when each launch ran.
std::vector<Span> launches_of(Profile const& kernel) {
  std::map<std::uint64_t, Span> by_number;
  for (ProfileRow const& row : kernel.rows) {
    auto const [found, fresh] = by_number.try_emplace(row.launch, Span{row.start, row.stop, 0});
    Span& span = found->second;
    span.start = std::min(span.start, row.start);
    span.stop = std::max(span.stop, row.stop);
    for (std::int32_t i = row.first_event; i < row.first_event + row.events; ++i) {
      ProfileEvent const& event = kernel.events[static_cast<std::size_t>(i)];
      if (kernel.names[static_cast<std::size_t>(event.name)].kind == RecordKind::wait_launch &&
          event.state == ProfileEvent::State::whole)
        span.waited = std::max(span.waited, event.stop);
    }
  }
  std::vector<Span> result;
  for (auto const& [number, span] : by_number) result.push_back(span);
  std::ranges::sort(result, {}, &Span::start);
  return result;
}

/// Adds an event of a kernel's row.
void add(Profile& all, std::int32_t name, std::int32_t row, std::int32_t depth, double start, double stop) {
  ProfileEvent event;
  event.name = name;
  event.row = row;
  event.depth = depth;
  event.start = start;
  event.stop = stop;
  event.duration = stop - start;
  event.clocks = static_cast<std::int64_t>(event.duration);
  all.events.push_back(event);
}

/// Returns the number of a name, which is added if it is new.
std::int32_t name_of(Profile& all, RecordKind kind, std::string const& text) {
  ProfileName name;
  name.name = text;
  name.kind = kind;
  auto const found = std::ranges::find(all.names, name);
  auto const number = static_cast<std::int32_t>(found - all.names.begin());
  if (found == all.names.end()) all.names.push_back(std::move(name));
  return number;
}

}  // namespace

Profile join(std::string title, std::span<Profile const> kernels) {
  Profile all;
  all.kernel = std::move(title);
  all.processor_word.clear();
  all.clocks_per_ns = 1;
  bool first = true;
  for (Profile const& kernel : kernels)
    if (!kernel.empty() && (std::exchange(first, false) || kernel.origin < all.origin)) all.origin = kernel.origin;
  for (Profile const& kernel : kernels) {
    all.dropped_rows += kernel.dropped_rows;
    all.buffer_bytes += kernel.buffer_bytes;
    if (kernel.empty()) continue;
    all.device = kernel.device;
    auto const number = static_cast<std::int32_t>(all.rows.size());
    auto const after = static_cast<double>(kernel.origin - all.origin);
    std::int32_t const name = name_of(all, RecordKind::user, kernel.kernel);
    ProfileRole role;
    role.name = kernel.kernel;
    role.first_warp = number;
    role.warps = 1;
    all.roles.push_back(std::move(role));
    ProfileRow row;
    row.warp = static_cast<std::uint32_t>(number);
    row.role = number;
    row.first_event = static_cast<std::int32_t>(all.events.size());
    for (Span const& span : launches_of(kernel)) {
      add(all, name, number, 0, span.start + after, span.stop + after);
      if (span.waited > 0)
        add(all, name_of(all, RecordKind::wait_launch, "previous launch"), number, 1, span.start + after,
            span.waited + after);
      row.stop = std::max(row.stop, span.stop + after);
    }
    row.events = static_cast<std::int32_t>(all.events.size()) - row.first_event;
    row.start = all.events[static_cast<std::size_t>(row.first_event)].start;
    all.rows.push_back(row);
  }
  return all;
}

}  // namespace tegula::profiling
